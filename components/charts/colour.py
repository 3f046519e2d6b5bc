"""One grammar of colour: a hue for each quantity, its shades where several lines are of the same, its scale in a map.

Beside a hue stands a word, a dash or a marker. `.stage-curve` in stage.css and stack.js have the hues too.
"""

from functools import cache

import numpy as np

# Each at least 3:1 against the white and the dark page.
SIGNAL = "#2f86d6"  # what goes forward: stream, branches, attention, what is said; the skip is its way
GRADIENT = "#b35fb0"  # what comes back
NORM = "#d4760a"  # norms and their gains
WEIGHTS = "#1a9e77"  # parameters, and what an update changes of them
LOSS = "#8c8415"  # how far off the answers are: loss, accuracy, how the loss bends
GREY = "#80858f"  # no quantity: guides, what stands still to compare with, counts
RED = "#d84a3a"  # what is not finite, diverged or wrong
RIGHT = "#1a9e77"  # an answer that is right
CLASSES = ("#14a0b0", "#a8436b", "#9a7b45")  # what a net may say, in the hues of no quantity
LUMINANCES = (None, 0.135, 0.29, 0.18)  # of the shades; outside of these a line is lost on one of the pages
DARKEST, PALEST = 0.045, 0.8  # luminances of the ends of a map's scale
SIGNED = [[0, "#7d5f2c"], [0.5, "#dcdcdc"], [1, SIGNAL]]  # from negative to positive, grey at 0
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


@cache
def shades(hue: str) -> tuple[str, ...]:
    """A hue as it is, dark, pale and in between: as far apart in lightness as both pages allow."""
    return tuple(hue if luminance is None else at_luminance(hue, luminance) for luminance in LUMINANCES)


def colour_scale(hue: str) -> list[list[float | str]]:
    """Plotly's colour scale of a map, from the least to the greatest; what is lost is grey and red in it."""
    return [[0, at_luminance(hue, DARKEST)], [0.5, hue], [1, at_luminance(hue, PALEST)]]


def at_luminance(hue: str, luminance: float) -> str:
    """A hue mixed with black or white in linear light, up to a relative luminance (WCAG 2.2), 0 to 1."""
    parts = np.array([int(hue[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    light = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    own = float(light @ _LUMINANCE)
    mixed = light * luminance / own if luminance < own else light + (1 - light) * (luminance - own) / (1 - own)
    coded = np.where(mixed <= 0.0031308, 12.92 * mixed, 1.055 * mixed ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * part):02x}" for part in coded.tolist())


def marked(title: str, hue: str) -> str:
    """A title behind the mark of what its chart is of; without one where that is no quantity."""
    return title if hue == GREY else f'<span style="color:{hue}">■</span> {title}'
