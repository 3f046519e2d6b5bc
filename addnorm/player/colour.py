"""The player's colours: one hue for each quantity in every chart, with shades for several lines and a scale for maps.

A word, a dash or a marker always says the same as a hue. Twins: `.stage-curve` in stage.css, and stack.js.
"""

from functools import cache

# At least 3:1 contrast on the light and the dark page.
SIGNAL = "#2f86d6"  # the forward pass: stream, branches, skip, attention, answers
GRADIENT = "#b35fb0"  # the backward pass
WEIGHTS = "#1a9e77"  # parameters and their updates
LOSS = "#8c8415"  # loss, accuracy, curvature of the loss
GREY = "#80858f"  # no quantity: guides, lines to compare with, counts
RED = "#d84a3a"  # not finite, diverged or wrong
LUMINANCES = (None, 0.135, 0.29, 0.18)  # of the shades; beyond these a line is lost on one of the pages
DARKEST, PALEST = 0.045, 0.8  # luminances at the ends of a map's scale
_LUMINANCE = (0.2126, 0.7152, 0.0722)


@cache
def shades(hue: str) -> tuple[str, ...]:
    """A hue, and a dark, a pale and a middle shade of it, as far apart in lightness as both pages allow."""
    return tuple(hue if luminance is None else at_luminance(hue, luminance) for luminance in LUMINANCES)


def colour_scale(hue: str) -> list[list[float | str]]:
    """Plotly's colour scale of a map, from the least to the greatest value."""
    return [[0, at_luminance(hue, DARKEST)], [0.5, hue], [1, at_luminance(hue, PALEST)]]


def at_luminance(hue: str, luminance: float) -> str:
    """A hue mixed with black or white, in linear light, to a relative luminance (WCAG 2.2) from 0 to 1."""
    parts = [int(hue[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    light = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    own = sum(part * weight for part, weight in zip(light, _LUMINANCE, strict=True))
    share = luminance / own if luminance < own else (luminance - own) / (1 - own)
    mixed = [part * share if luminance < own else part + (1 - part) * share for part in light]
    coded = [12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055 for part in mixed]
    return "#" + "".join(f"{round(255 * part):02x}" for part in coded)


def marked(title: str, hue: str) -> str:
    """A title after a square in the hue of its quantity; without one if that is GREY."""
    return title if hue == GREY else f'<span style="color:{hue}">■</span> {title}'
