"""Judges the claim: Dead ReLU units come from a learning rate that is too large."""

import numpy as np

from models.claims.judging import verdict
from models.experiment import Judgement, Values, judge

MIN_DEAD_SHARE = 0.1  # share of dead units above which training has killed them


@judge("mean worst")
def dead_units(values: Values, *, plain: str, trained: str) -> Judgement:
    """Shares of dead units: in the plain net before training, and after a run with too large steps."""
    frames = {name: trace.frames[-1 if name == trained else 0] for name, trace in values.items()}
    dead = {name: np.asarray(frame.dead_units, float) for name, frame in frames.items()}
    if values[trained].divergence:
        dead[trained] = np.full(1, np.nan)  # these are units of an earlier step
    mean = {name: float(np.mean(shares)) for name, shares in dead.items()}
    worst = {name: float(np.max(shares)) for name, shares in dead.items()}
    table = {"net": list(dead), "dead, mean over blocks": list(mean.values()), "most": list(worst.values())}
    return Judgement(
        verdict([mean[plain] < MIN_DEAD_SHARE, mean[trained] > MIN_DEAD_SHARE]), {"mean": mean, "worst": worst}, table
    )
