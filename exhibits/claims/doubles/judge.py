"""Judges the claim: The variance of a ResNet's activations doubles with every block."""

import numpy as np

from models.claims.judging import size_lines, verdict
from models.experiment import Judgement, Values, judge
from models.insight.formula import geometric_mean
from models.insight.theory import factor_per_sublayer

DOUBLING_TOLERANCE = 0.05  # relative distance from 2 at which a factor per block counts as a doubling


@judge("v factor")
def doubles(values: Values) -> Judgement:
    """Factor by which a block multiplies the stream's mean square, and the v of its branch."""
    measured = {name: factor_per_sublayer(geometric_mean(value.mean_square)) for name, value in values.items()}
    v = {name: float(np.mean(value.v_f)) for name, value in values.items()}
    table = {"weights": list(measured), "v of a branch": list(v.values()), "factor per block": list(measured.values())}
    holds = [abs(value - 2) < 2 * DOUBLING_TOLERANCE for value in measured.values()]
    return Judgement(verdict(holds), {"v": v, "factor": measured}, table, size_lines(values))
