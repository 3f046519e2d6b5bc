"""The stand-alone script: a run in one file that needs torch alone."""
