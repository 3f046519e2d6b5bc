"""Judges the claim: Hyper-connections are always better than one stream."""

from models.claims.judging import finite_loss, verdict
from models.experiment import Judgement, Values, judge


@judge("ends")
def lower_losses(values: Values, *, pairs: list[list[str]]) -> Judgement:
    """Whether the first net of each pair ends lower than the second."""
    ends = {name: finite_loss(trace) for name, trace in values.items()}
    holds = [ends[first] < ends[second] for first, second in pairs]
    return Judgement(verdict(holds), {"ends": ends}, {"net": list(ends), "loss": list(ends.values())})
