"""The arithmetic of the labs, in numpy: every worked example of the lecture notes as the page computes it. Knows no torch."""
