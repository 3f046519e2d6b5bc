"""The arithmetic of the labs, in numpy: every worked example as its page computes it. Knows no torch."""
