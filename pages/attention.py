"""Attention lab: one head on editable tables, scaling, shapes, positions, and what trained nets do."""

from components.labs.page import draw_lab

draw_lab("attention")
