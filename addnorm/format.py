"""What the writer and the reader of a recording share. docs/recording.md describes the format."""

from __future__ import annotations

import math

VERSION = 2  # of the format; a reader refuses a higher one

NAN, INFINITE, NEGATIVE = "NaN", "Infinity", "-Infinity"
NON_FINITE = {NAN: math.nan, INFINITE: math.inf, NEGATIVE: -math.inf}  # JSON has no such numbers

SITE_SERIES, BLOCK_SERIES = ("act_rms", "grad_rms", "sample_cosine"), ("weight_grad_rms", "update_to_weight")
DETAILS = ("head", "parameter_grad")  # only where they are asked for
BINS, BIN_ENDS_RMS = 32, 4.0  # of a histogram: how many, and where its outer bins end, in RMS
SERIES = SITE_SERIES + BLOCK_SERIES + DETAILS
SOMETIMES = ("sample_cosine", "update_to_weight", *DETAILS)  # measured in some rows only
IN_VERSION_1 = {"act_rms": "act", "grad_rms": "grad", "weight_grad_rms": "weight_grad", "update_to_weight": "update"}
FROM_VERSION_1 = {old: name for name, old in IN_VERSION_1.items()}
SCALARS = ("loss", "lr", "grad_norm", "output", "grad_norm_unclipped", "input", "gradient_left")
FACTS = ("copy_of", "absent", "zero", "thawed", "calls")  # lists of counts, in the rows that they concern

Number = float | str | None


def encoded(value: float | None, digits: int = 7) -> Number:
    """A number as the file holds it: rounded, by name where it is not finite, None where it was not measured."""
    if value is None:
        return None
    if math.isfinite(value):
        return float(f"{value:.{digits}g}")
    return NAN if math.isnan(value) else INFINITE if value > 0 else NEGATIVE
