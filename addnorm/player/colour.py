"""The player's colours: one hue for each quantity in every chart, of which the browser makes shades and scales.

A word, a dash or a marker always says the same as a hue. No script and no style has another copy of one.
"""

# At least 3:1 contrast on the light and the dark page.
SIGNAL = "#2f86d6"  # the forward pass: stream, branches, skip, attention, answers
GRADIENT = "#b35fb0"  # the backward pass
WEIGHTS = "#1a9e77"  # parameters and their updates
LOSS = "#8c8415"  # loss, accuracy, curvature of the loss
GREY = "#80858f"  # no quantity: guides, lines to compare with, counts
RED = "#d84a3a"  # not finite, diverged or wrong
NORM = "#d4760a"  # norms and their gains

# By name, as every page tells them to its scripts and styles.
HUES = {"signal": SIGNAL, "gradient": GRADIENT, "weights": WEIGHTS, "loss": LOSS}
HUES |= {"norm": NORM, "grey": GREY, "red": RED}


def marked(title: str, hue: str) -> str:
    """A title after a square in the hue of its quantity; without one if that is GREY."""
    return title if hue == GREY else f'<span style="color:{hue}">■</span> {title}'
