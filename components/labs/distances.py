"""Scores of positions by their distance, which two parts of the Attention lab show."""

from typing import Any

import numpy as np

from components.charts.colour import SIGNAL
from components.charts.parts import Figure
from components.labs.parts import line_chart
from models.content import Texts
from models.labs import positions as encodings

TEXTS = Texts("distances")
ROUNDING = 1e-9  # a smaller difference, as a share of the largest score, is rounding


def distance_sentence(kind: str, scores: encodings.ByDistance) -> str:
    """Whether the score of two positions depends on their distance alone, and whether it shows their order."""
    if kind == "none":
        return TEXTS("distance does not matter")
    size = float(np.abs(scores.mean).max()) or 1.0
    spread = scores.spread
    if spread > ROUNDING * size:
        return TEXTS("distance is not enough", spread=spread, size=size)
    asymmetry = float(np.abs(scores.mean - scores.mean[::-1]).max())
    if asymmetry > ROUNDING * size:
        return TEXTS("distance shows the order", spread=spread, sided=asymmetry)
    return TEXTS("distance hides the order", spread=spread)


def distance_chart(scores: np.ndarray) -> Figure:
    """Mean, minimum and maximum of scores (n, n) by distance."""
    by_distance = encodings.by_distance(scores)
    lines = {"mean": by_distance.mean, "minimum": by_distance.minimum, "maximum": by_distance.maximum}
    x = "distance: position of the key minus that of the query"
    axes: dict[str, Any] = {"axis": "linear", "x": x, "unit": "dot product", "hue": SIGNAL}
    return line_chart("Score by distance", by_distance.distance.tolist(), lines, ("now", "previous", "pinned"), **axes)
