"""What stands in a recording, for the one that writes and the one that reads. docs/recording.md describes it."""

from __future__ import annotations

import math

VERSION = 1  # of the format: a reader refuses what has a higher one

NAN, INFINITE, NEGATIVE = "NaN", "Infinity", "-Infinity"
NAMED = {NAN: math.nan, INFINITE: math.inf, NEGATIVE: -math.inf}  # JSON has no such numbers

SERIES = ("act", "grad", "weight_grad", "update")  # by site twice, by block twice; the last is measured now and then
SCALARS = ("loss", "lr", "grad_norm")

Number = float | str | None


def encoded(value: float | None, digits: int = 7) -> Number:
    """A number as it stands in the file: rounded, non-finite ones by name, None for what was not measured."""
    if value is None:
        return None
    if math.isfinite(value):
        return float(f"{value:.{digits}g}")
    return NAN if math.isnan(value) else INFINITE if value > 0 else NEGATIVE
