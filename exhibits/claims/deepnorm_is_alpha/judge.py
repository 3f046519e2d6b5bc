"""Judges the claim: DeepNorm multiplies the residual by alpha."""

import numpy as np

from models.claims.judging import SAME_FACTOR, verdict
from models.experiment import Judgement, Values, judge


@judge("share times")
def skip_weight_suffices(values: Values) -> Judgement:
    """Whether DeepNorm's skip weight alone gives its share of branch in the stream, before training."""
    share = {name: float(np.mean(value.branch_rms[0] / value.act_rms[0, :-1])) for name, value in values.items()}
    times = share["skip weight alone"] / share["DeepNorm"]
    table = {"net": list(share), "branch over stream, mean over blocks": list(share.values())}
    return Judgement(verdict([1 / SAME_FACTOR < times < SAME_FACTOR]), {"share": share, "times": times}, table)
