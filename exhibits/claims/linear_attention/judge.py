"""Judges the claim: Self-attention is linear."""

from models.claims.judging import MAX_ROUNDING, verdict
from models.experiment import Judgement, Values, judge


@judge("held own size")
def linear_attention(values: Values) -> Judgement:
    """Difference between A(x + y) and A(x) + A(y)."""
    measured = values["numbers"]
    weights = ["held fixed", "following the input"]
    table = {"attention weights": weights, "largest difference": [measured["held"], measured["own"]]}
    return Judgement(
        verdict([measured[name] < MAX_ROUNDING * measured["size"] for name in ("held", "own")]), measured, table
    )
