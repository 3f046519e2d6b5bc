"""Gradient lab: the chain of factors by hand, where they come from, a real network, and a gradient through time."""

from components.labs.page import draw_lab

draw_lab("gradients")
