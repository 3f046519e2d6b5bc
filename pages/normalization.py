"""Normalisation lab: edit a table of tokens and see every norm work on it, cell by cell."""

from components.labs.page import draw_lab

draw_lab("normalization")
