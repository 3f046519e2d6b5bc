"""What becomes of ten samples on their way through a net, in three words."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

VANISH, FLY, MERGE, APART = "vanish", "fly out", "merge", "stay distinct"
PATH_OUTCOMES = (VANISH, FLY, MERGE, APART)
FADED, GROWN = 0.1, 16.0  # times the input's size: the smaller is hardly seen, the larger has left the picture
MERGED = 0.9  # mean cosine between the ten; the verdict, of many samples, asks for more


def growth(picture: Mapping[str, Any]) -> float:
    """The mean size of the ten after the last block, in times that of the input; NaN if some size is not finite."""
    size = np.sqrt(np.mean(np.square(picture["ten_size"]), axis=1))
    return float(size[-1] / size[0]) if np.isfinite(size).all() else math.nan


def path_outcome(picture: Mapping[str, Any]) -> str:
    """One of PATH_OUTCOMES, by mean size and cosine after the last block (`models.training.ten`); "" without them."""
    if "ten_size" not in picture:
        return ""
    grown = growth(picture)
    if grown < FADED:
        return VANISH
    if not grown <= GROWN:
        return FLY
    return MERGE if picture["ten_cosine"][-1] > MERGED else APART
