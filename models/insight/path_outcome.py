"""The outcome of ten sample paths through a net, as one of four phrases."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

VANISH = "vanish"
FLY = "fly out"
MERGE = "merge"
APART = "stay distinct"
PATH_OUTCOMES = (VANISH, FLY, MERGE, APART)
MIN_VISIBLE_GROWTH = 0.1  # size over the input's size, below which a path is invisible
MAX_VISIBLE_GROWTH = 16.0  # size over the input's size, above which a path leaves the picture
MIN_MERGED_COSINE = (
    0.9  # mean cosine between the ten samples; lower than a verdict's bound, which rests on many samples
)


def growth(picture: Mapping[str, Any]) -> float:
    """RMS size of the ten samples after the last block over that of the input; NaN if some size is not finite."""
    size = np.sqrt(np.mean(np.square(picture["ten_size"]), axis=1))
    return float(size[-1] / size[0]) if np.isfinite(size).all() else math.nan


def path_outcome(picture: Mapping[str, Any]) -> str:
    """One of PATH_OUTCOMES, by size and cosine after the last block; "" for a picture without sample paths."""
    if "ten_size" not in picture:
        return ""
    factor = growth(picture)
    if factor < MIN_VISIBLE_GROWTH:
        return VANISH
    if not factor <= MAX_VISIBLE_GROWTH:
        return FLY
    return MERGE if picture["ten_cosine"][-1] > MIN_MERGED_COSINE else APART
