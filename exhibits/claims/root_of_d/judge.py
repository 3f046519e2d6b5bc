"""Judges the claim: Scores are divided by √d_model."""

from models.claims.judging import verdict
from models.experiment import Judgement, Values, judge

ABOUT_ONE = (0.5, 2.0)  # a variance between these is about 1


@judge("variance embedding position scaled")
def root_of_d(values: Values) -> Judgement:
    """Variance of scores by divisor, and RMS of embedding and positions."""
    measured = values["numbers"]
    variance = measured["variance"]
    table = {
        "number": [
            *(f"variance of scores over {name}" for name in variance),
            "RMS of the embedding",
            "times √d_model",
            "position",
        ],
        "found": [*variance.values(), measured["embedding"], measured["scaled"], measured["position"]],
    }
    return Judgement(verdict([ABOUT_ONE[0] < variance["√d_model"] < ABOUT_ONE[1]]), measured, table)
