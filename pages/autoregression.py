"""Autoregression lab: a small transformer, trained here, continues a prompt one token at a time."""

from components.labs.page import draw_lab

draw_lab("autoregression")
