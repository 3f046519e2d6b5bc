"""The course of a loss: whether it has risen again, has never fallen, or has fallen since the start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median, pvariance
from typing import NamedTuple

# Losses are compared by the medians of successive windows of WINDOW_ROWS rows, or of 1/WINDOW_PART of all if more.
WINDOW_ROWS = 20
WINDOW_PART = 10
MIN_WINDOWS = 3  # fewer rows have no course yet
MIN_RISE = 0.2  # a share of the lowest median
MIN_LOST_PART = 0.5  # the share of all progress that a rise has undone
MIN_STANDARD_ERRORS = 8.0  # a rise is this many times the uncertainty of the two medians
FIRST_ROWS = 5
MIN_FLAT_ROWS = 100
MIN_FALL = 0.02  # a share of the loss half way: one that has fallen more since still falls
LEARNED = 0.9  # a loss below this share of the first one shows that the model learns


class Course(NamedTuple):
    """A loss that is no lower than it was: the row of the lowest median, and the loss then and now."""

    row: int
    loss_then: float
    loss_now: float


def find_rise(losses: Sequence[float]) -> Course | None:
    """The rise after the lowest losses, if it is beyond noise and has undone half of what was gained; else None."""
    windows = _windows(losses)
    if not windows:
        return None
    medians = [median(losses[start:end]) for start, end in windows]
    lowest = min(range(len(windows) - 1), key=medians.__getitem__)
    low, now = medians[lowest], medians[-1]
    first = max(medians[0], losses[0])
    is_large = low > 0 and now >= (1 + MIN_RISE) * low and now - low >= MIN_LOST_PART * (first - low)
    if not is_large:
        return None
    compared = [losses[start:end] for start, end in (windows[lowest], windows[-1])]
    scale = max(abs(loss) for window in compared for loss in window)  # squares of large losses are beyond a float
    errors = [pvariance([loss / scale for loss in window]) / len(window) for window in compared]
    if now - low < MIN_STANDARD_ERRORS * math.sqrt(sum(errors)) * scale:
        return None
    start, end = windows[lowest]
    return Course((start + end - 1) // 2, low, now)


def find_flat(losses: Sequence[float], least: float) -> Course | None:
    """The first and the latest losses, if none was below `least` for a window and they fall no more; else None."""
    windows = _windows(losses)
    medians = [median(losses[start:end]) for start, end in windows]
    is_flat = len(losses) >= MIN_FLAT_ROWS and min(medians) > least
    is_flat = is_flat and medians[-1] > (1 - MIN_FALL) * medians[len(medians) // 2]
    return Course(0, median(losses[:FIRST_ROWS]), medians[-1]) if is_flat else None


def has_learned(losses: Sequence[float]) -> bool:
    """Whether the latest losses are clearly below the first ones."""
    first = median(losses[:FIRST_ROWS]) if losses else math.nan
    latest = median(losses[-WINDOW_ROWS:]) if losses else math.nan
    return latest < first - (1 - LEARNED) * abs(first)


def _windows(losses: Sequence[float]) -> list[tuple[int, int]]:
    """Start and end of successive windows up to the last loss; empty for too few losses."""
    size = max(WINDOW_ROWS, len(losses) // WINDOW_PART)
    count = len(losses) // size
    start = len(losses) - size * count
    return [(start + size * k, start + size * (k + 1)) for k in range(count)] if count >= MIN_WINDOWS else []
