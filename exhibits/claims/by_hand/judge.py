"""Judges the claim: `(x - x.mean()) / (x.std() + eps)` is layer norm."""

import numpy as np

from models.claims.judging import verdict
from models.experiment import Judgement, Values, judge

FORMULA_TOLERANCE = 1e-4  # difference up to which measurement and formula count as equal


@judge("short features law")
def by_hand(values: Values) -> Judgement:
    """Shortfall of the hand-written norm, against the formula."""
    measured = values["torch"]
    sizes, short = measured.features, np.asarray(measured.short)
    law = [1 - float(np.sqrt((size - 1) / size)) for size in sizes]
    table = {"features": sizes, "too short, measured": short, "1 - sqrt((d - 1) / d)": law}
    return Judgement(
        verdict((np.abs(short) < FORMULA_TOLERANCE).tolist()), {"short": short, "features": sizes, "law": law}, table
    )
