"""The player's colours: one hue per quantity in all charts; the browser derives shades and scales from it.

No colour carries meaning alone: a word, a dash or a marker repeats it. Scripts and styles take the hues from here.
"""

# Each has a contrast of at least 3:1 on the light and on the dark page.
SIGNAL = "#2f86d6"  # the forward pass: stream, branches, skip, attention, answers
GRADIENT = "#b35fb0"  # the backward pass
WEIGHTS = "#1a9e77"  # parameters and their updates
LOSS = "#8c8415"  # loss, accuracy, curvature of the loss
GREY = "#80858f"  # no quantity: guides, reference lines, counts
RED = "#d84a3a"  # not finite, diverged or wrong
NORM = "#d4760a"  # norms and their gains

# Every page passes these to its scripts and styles.
HUES = {"signal": SIGNAL, "gradient": GRADIENT, "weights": WEIGHTS, "loss": LOSS}
HUES |= {"norm": NORM, "grey": GREY, "red": RED}


def marked_title(title: str, hue: str) -> str:
    """The title after a square in the hue of its quantity; GREY gets no square."""
    return title if hue == GREY else f'<span style="color:{hue}">■</span> {title}'
