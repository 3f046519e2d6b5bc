"""Judges the claim: Norm layers remove covariate shift."""

import numpy as np

from models.claims.judging import verdict
from models.experiment import Judgement, Values, judge

MAX_REMOVED_SHIFT = 0.1  # a smaller remaining shift (of 3), or share of a shift, counts as removed
LAST_STEPS = 20  # steps that a final loss averages


@judge("left moves ends")
def covariate_shift(values: Values, *, net: str) -> Judgement:
    """Shift that each norm leaves: between training and inference, and between layers during training."""
    measured = values["numbers"]
    left = {
        "batch": abs(measured["batch norm"][1] - measured["batch norm"][0]),
        "layer": abs(measured["layer norm"][1] - measured["layer norm"][0]),
        "all": measured["token shift"],
    }
    cases = [
        "batch norm at inference, one feature shifted",
        "layer norm, one feature shifted",
        "layer norm, all features shifted equally",
    ]
    shift_within = values[net]
    moves = dict(zip(shift_within.nets, np.median(shift_within.moves, axis=1).tolist(), strict=True))
    ends = dict(zip(shift_within.nets, shift_within.loss[:, -LAST_STEPS:].mean(1).tolist(), strict=True))
    shares = {norm: moves[norm] / moves["none"] for norm in ("layer norm", "batch norm")}
    table = {
        "case": [*cases, *(f"between layers, {norm}, share" for norm in shares)],
        "shift left": [*left.values(), *shares.values()],
    }
    holds = [remaining < MAX_REMOVED_SHIFT for remaining in (*left.values(), *shares.values())]
    return Judgement(verdict(holds), {"left": left, "moves": moves, "ends": ends}, table)
