"""Judges the claim: Gains and biases must be spared weight decay, or the net does not learn."""

import numpy as np

from models.claims.judging import loss_or_divergence, verdict
from models.experiment import Judgement, Values, judge
from models.lessons.judges import DIGITS, learned

GAINS = ", gains"  # ends the name of a net's health, beside that of its run
PULLED = "everything"


@judge("ends chance gains")
def decayed_gains(values: Values) -> Judgement:
    """Whether the net whose gains are pulled too fails to learn, where the other learns; and the mean of all gains."""
    ends = {name: loss_or_divergence(value) for name, value in values.items() if not name.endswith(GAINS)}
    learns = {name: learned(values[name]) for name in ends}
    gains = {name: float(np.mean(values[name + GAINS].gains.gains[:, 0])) for name in ends}
    holds = not learns[PULLED] and all(has_learned for name, has_learned in learns.items() if name != PULLED)
    table = {"pulled": list(ends), "loss": list(ends.values()), "mean gain": list(gains.values())}
    return Judgement(verdict([holds]), {"ends": ends, "chance": DIGITS, "gains": gains}, table)
