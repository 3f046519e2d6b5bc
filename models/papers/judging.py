"""What the judges of papers share: the verdict on a list of statements, and averages over seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from models.experiment import Judgement

HOLDS, PARTLY, NOT_HERE = "holds here", "holds in part", "does not show here"
MIN_SEEDS = 3  # on which a verdict rests


def judged(statements: Sequence[str], true: Sequence[bool], numbers: Mapping[str, Any], **shown: Any) -> Judgement:
    """The verdict on statements by which of them are `true`; `numbers` get those that are not as `missed`."""
    answer = HOLDS if all(true) else PARTLY if any(true) else NOT_HERE
    missed = [said for said, holds in zip(statements, true, strict=True) if not holds]
    return Judgement(answer, {**numbers, "missed": "; ".join(missed)}, **shown)


def slope(x: Sequence[float], y: np.ndarray) -> float:
    """The power of x by which y grows: the least-squares line on log-log axes; NaN where y is not positive."""
    y = np.asarray(y, float)
    if not (np.isfinite(y) & (y > 0)).all():
        return float("nan")
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(y), 1)[0])


def per_layer(squares: np.ndarray) -> np.ndarray:
    """The factor per layer of each row of (K, L) mean squares, by least squares on a log axis, (K,)."""
    rows = np.log(np.asarray(squares, float))
    return np.asarray(np.exp(np.polyfit(np.arange(rows.shape[1]), rows.T, 1)[0]))
