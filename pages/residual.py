"""Residual lab: add & norm on a token, a whole block, widths that fit, learned bends, the stream as a memory, nets."""

from components.labs.page import draw_lab

draw_lab("residual")
