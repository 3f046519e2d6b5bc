"""Judges the claim: Normalisation alone lets you train deep nets."""

from models.claims.judging import loss_or_divergence, verdict
from models.experiment import Judgement, Values, judge
from models.lessons.judges import DIGITS, learned


@judge("ends chance")
def all_train(values: Values, *, about: list[str]) -> Judgement:
    """Whether the nets named in `about` learn."""
    ends = {name: loss_or_divergence(value) for name, value in values.items()}
    table = {"net": list(ends), "loss": list(ends.values())}
    holds = [learned(values[name]) for name in about]
    return Judgement(verdict(holds), {"ends": ends, "chance": DIGITS}, table)
