"""What becomes of ten samples on their way through a net, in three words."""

from collections.abc import Mapping
from typing import Any

import numpy as np

VANISH, FLY, MERGE, APART = "vanish", "fly out", "merge", "stay apart"
FATES = (VANISH, FLY, MERGE, APART)
FADED, GROWN = 0.1, 16.0  # times the input's size: the smaller is hardly seen, the larger has left the picture
MERGED = 0.9  # mean cosine between the ten; the verdict, of many samples, asks for more


def fate(picture: Mapping[str, Any]) -> str:
    """One of FATES, by mean size and mean cosine after the last block (`models.training.ten`); "" without them."""
    if "ten_size" not in picture:
        return ""
    size = np.sqrt(np.mean(np.square(picture["ten_size"]), axis=1))
    if not np.isfinite(size).all():
        return FLY
    if size[-1] < FADED * size[0]:
        return VANISH
    if size[-1] > GROWN * size[0]:
        return FLY
    return MERGE if picture["ten_cosine"][-1] > MERGED else APART
