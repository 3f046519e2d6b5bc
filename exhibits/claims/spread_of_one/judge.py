"""Judges the claim: Layer norm makes the standard deviation exactly 1."""

from models.claims.judging import SAME_RELATIVE, verdict
from models.experiment import Judgement, Values, judge


@judge("given biased gain unbiased")
def spread_of_one(values: Values) -> Judgement:
    """Standard deviation after layer norm, for tokens of several spreads."""
    measured = values["numbers"]
    deviations = [*measured["biased"], measured["gain"], measured["unbiased"]]
    cases = [
        *(f"spread {value:g}" for value in measured["given"]),
        "gain 2, bias 1",
        "spread 1, four features, unbiased",
    ]
    table = {"token": cases, "deviation after layer norm": deviations}
    return Judgement(verdict([abs(value - 1) < SAME_RELATIVE for value in deviations]), measured, table)
