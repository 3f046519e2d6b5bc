"""Constants of the recording format that writer and reader share. docs/recording.md describes the format."""

from __future__ import annotations

import math

VERSION = 2  # of the format; a reader refuses a higher one

NAN, INFINITE, NEGATIVE = "NaN", "Infinity", "-Infinity"
NON_FINITE = {NAN: math.nan, INFINITE: math.inf, NEGATIVE: -math.inf}  # JSON has no such numbers

SITE_SERIES = ("act_rms", "grad_rms", "sample_cosine")
BLOCK_SERIES = ("weight_grad_rms", "update_to_weight")
DETAILS = ("head", "parameter_grad")  # recorded only with detail="heads"
SERIES = SITE_SERIES + BLOCK_SERIES + DETAILS
OPTIONAL_SERIES = ("sample_cosine", "update_to_weight", *DETAILS)  # measured in some rows only
SCALARS = ("loss", "lr", "grad_norm", "output", "grad_norm_unclipped", "input", "gradient_left")
FACTS = ("copy_of", "absent", "zero", "thawed", "calls")  # lists of counts, only in rows where they are not empty
BINS = 32  # of a histogram
BIN_ENDS_RMS = 4.0  # the outer bins end at this many RMS on either side
IN_VERSION_1 = {"act_rms": "act", "grad_rms": "grad", "weight_grad_rms": "weight_grad", "update_to_weight": "update"}
FROM_VERSION_1 = {old: name for name, old in IN_VERSION_1.items()}

Number = float | str | None


def encode_number(value: float | None, digits: int = 7) -> Number:
    """A number as the file stores it: rounded, by name if it is not finite, None if it was not measured."""
    if value is None:
        return None
    if math.isfinite(value):
        return float(f"{value:.{digits}g}")
    return NAN if math.isnan(value) else INFINITE if value > 0 else NEGATIVE
