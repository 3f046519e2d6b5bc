"""The arithmetic of the labs, in numpy, without torch."""
