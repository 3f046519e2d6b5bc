"""What becomes of vectors on their way through a net: rules for their size and for their directions, in words."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from addnorm.findings import ALIKE
from models.insight.words import two_places

VANISH = "vanish"
FLY = "fly out"
MERGE = "merge"
SIMILAR = "stay distinct, but similar"
APART = "stay distinct"
PATH_OUTCOMES = (VANISH, FLY, MERGE, APART)  # options of a guess
MIN_VISIBLE_GROWTH = 0.1  # size over the input's size, below which a path is invisible
SPREAD_STEPS = 46  # between no angle and a full circle, and again about the first that spreads enough
MAX_VISIBLE_GROWTH = 16.0  # size over the input's size, above which a path leaves the picture
DISTINCT_COSINE = 0.7  # mean cosine below which vectors have different directions; above ALIKE it is nearly one
DIRECTIONS = {
    APART: "in different directions",
    SIMILAR: "similar, but still distinct",
    MERGE: "in nearly the same direction",
}


def size_outcome(factor: float) -> str:
    """VANISH or FLY by size over the input's size, NaN if not finite; "" for a size that the picture shows."""
    if factor < MIN_VISIBLE_GROWTH:
        return VANISH
    return "" if factor <= MAX_VISIBLE_GROWTH else FLY


def direction_outcome(cosine: float) -> str:
    """APART, SIMILAR or MERGE by the mean cosine between vectors, to the two places that sentences give."""
    cosine = round(cosine, 2)
    if cosine < DISTINCT_COSINE:
        return APART
    return MERGE if cosine > ALIKE else SIMILAR


def growth(picture: Mapping[str, Any], stop: int = -1) -> float:
    """RMS size of the ten samples at a stop over that of the input; NaN if some size is not finite."""
    size = np.sqrt(np.mean(np.square(picture["ten_size"]), axis=1))
    return float(size[stop] / size[0]) if np.isfinite(size).all() else math.nan


def path_outcome(picture: Mapping[str, Any]) -> str:
    """The outcome of size after the last block, or else that of direction; "" for a picture without sample paths."""
    if "ten_size" not in picture:
        return ""
    return size_outcome(growth(picture)) or direction_outcome(picture["ten_cosine"][-1])


def path_details(picture: Mapping[str, Any]) -> tuple[str, str]:
    """What `path_outcome` leaves open: directions of paths that fly out, and the mean cosine, in words or empty."""
    outcome, cosine = path_outcome(picture), picture["ten_cosine"][-1]
    if outcome == VANISH or not math.isfinite(cosine):
        return "", ""
    directions = DIRECTIONS[direction_outcome(cosine)] if outcome == FLY else ""
    return directions, f"mean\u00a0cosine\u00a0{two_places(cosine)}"


def drawn_angles(picture: Mapping[str, Any]) -> np.ndarray:
    """The angles (S, n) at which the ten samples are drawn, whose mean cosine is the measured one.

    The plane of `ten_at` gives their order, but shows directions closer than they are: it leaves out what sets them
    apart elsewhere. Each site's angles are therefore spread about their middle, up to a full circle.
    """
    across, up = np.moveaxis(picture["ten_at"], -1, 0)
    angles = np.arctan2(up, across)
    for angle, is_shown, cosine in zip(angles, np.hypot(across, up) > 0, picture["ten_cosine"], strict=True):
        if math.isfinite(cosine) and is_shown.sum() > 1:
            angle[is_shown] = _spread_angles(angle[is_shown], float(cosine))
    return angles


def _spread_angles(angles: np.ndarray, cosine: float) -> np.ndarray:
    """Angles (n,) scaled about their middle so that their mean cosine is `cosine`, or nearest to it."""
    middle = np.angle(np.exp(1j * angles).sum())
    offsets = np.angle(np.exp(1j * (angles - middle)))
    count, low, high = len(angles), 0.0, math.pi / max(np.abs(offsets).max(), 1e-9)
    for _ in range(2):
        scales = np.linspace(low, high, SPREAD_STEPS)
        means = (np.abs(np.exp(1j * np.outer(scales, offsets)).sum(1)) ** 2 - count) / (count * (count - 1))
        reached = np.flatnonzero(means <= cosine)
        first = reached[0] if len(reached) else means.argmin()
        low, high = scales[max(first - 1, 0)], scales[min(first + 1, SPREAD_STEPS - 1)]
    return middle + scales[first] * offsets


def unseparated(picture: Mapping[str, Any]) -> list[bool]:
    """At each stop, whether the ten samples are one to the eye: vanished or merged."""
    sizes = (size_outcome(growth(picture, stop)) for stop in range(len(picture["ten_cosine"])))
    directions = map(direction_outcome, picture["ten_cosine"])
    return [size == VANISH or direction == MERGE for size, direction in zip(sizes, directions, strict=True)]
