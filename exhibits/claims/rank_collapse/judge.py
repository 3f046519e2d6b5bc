"""Judges the claim: Pre-norm suffers from rank collapse, post-norm does not."""

import numpy as np

from models.claims.judging import verdict
from models.experiment import Judgement, Values, judge

PRE_AND_POST = ("pre-norm", "post-norm")


@judge("tokens layers condition")
def two_collapses(values: Values) -> Judgement:
    """Whether both tokens and neighbouring sublayers become more alike in pre-norm than in post-norm."""
    tokens = {name: float(values[f"{name}, tokens"].cosine[-1]) for name in PRE_AND_POST}
    layers = {name: float(np.mean(values[f"{name}, layers"].neighbour_cosine)) for name in PRE_AND_POST}
    table = {"net": list(tokens), "tokens alike": list(tokens.values()), "sublayers alike": list(layers.values())}
    holds = [value["pre-norm"] > value["post-norm"] for value in (tokens, layers)]
    condition = "for layers, not for tokens" if holds[1] else "for tokens, not for layers"
    return Judgement(verdict(holds), {"tokens": tokens, "layers": layers, "condition": condition}, table)
