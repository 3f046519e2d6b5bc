"""Judges the claim: In X of shape (N, d_model), N is the batch size."""

from models.claims.judging import MAX_ROUNDING, verdict
from models.experiment import Judgement, Values, judge


@judge("shape tokens batched samples")
def rows_of_x(values: Values) -> Judgement:
    """Change of output 1 when entry 2 of the first axis changes."""
    measured = values["numbers"]
    axes = ["first axis of X", "first axis of a batch"]
    table = {"axis": axes, "output 1 moves by": [measured["tokens"], measured["samples"]]}
    return Judgement(verdict([measured["tokens"] < MAX_ROUNDING]), measured, table)
