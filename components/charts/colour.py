"""Colours of the player, and of classes and right answers, which only the app draws. Colour scales are in style.js."""

from addnorm.player.colour import GRADIENT, GREY, LOSS, NORM, RED, SIGNAL, WEIGHTS

RIGHT = "#1a9e77"  # a right answer
CLASSES = ("#14a0b0", "#a8436b", "#9a7b45")  # the classes of a task, in hues that stand for no quantity

__all__ = ["CLASSES", "GRADIENT", "GREY", "LOSS", "NORM", "RED", "RIGHT", "SIGNAL", "WEIGHTS"]
