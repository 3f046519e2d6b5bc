"""Constants of the recording format that writer and reader share. docs/recording.md describes the format."""

from __future__ import annotations

import math

VERSION = 2  # of the format; a reader refuses any other

# JSON has no such numbers: a recording stores their names.
NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

SITE_SERIES = ("act_rms", "grad_rms", "sample_cosine", "act_peak")
BLOCK_SERIES = ("weight_grad_rms", "update_to_weight", "update_lost")
DETAILS = ("head", "parameter_grad")  # recorded only with detail="heads"
SERIES = SITE_SERIES + BLOCK_SERIES + DETAILS
# Measured in some rows only.
OPTIONAL_SERIES = ("sample_cosine", "act_peak", "update_to_weight", "update_lost", *DETAILS)
SCALARS = (
    "loss", "lr", "grad_norm", "output", "grad_norm_unclipped", "input", "gradient_left", "target", "cross_entropy",
    "input_mark",
)  # fmt: skip
# Lists of counts, only in rows where they are not empty.
FACTS = (
    "copy_of", "absent", "zero", "unheld", "thawed", "calls", "loss_form", "undivided", "discarded", "unmoved",
)  # fmt: skip
# Kinds of loss in `loss_form`. A loss is OTHER unless it is one function of the model's output.
OTHER, CLASSES, NUMBERS, YES_OR_NO = range(4)
BINS = 32  # in a histogram
BIN_ENDS_RMS = 4.0  # the outer bins end at this many RMS on either side

Number = float | str | None


def encode_number(value: float | None, digits: int = 7) -> Number:
    """A number as the file stores it: rounded to `digits` significant digits, or the name of a non-finite one.

    None stands for a number that was not measured.
    """
    if value is None:
        return None
    if math.isfinite(value):
        return float(f"{value:.{digits}g}")
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
