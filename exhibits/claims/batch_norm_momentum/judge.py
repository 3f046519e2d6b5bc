"""Judges the claim on batch norm momentum."""

from models.claims.judging import MAX_INDEPENDENT_CHANGE, verdict
from models.experiment import Judgement, Values, judge
from models.insight.words import number

CLAIM_TOLERANCE = 0.01  # tolerance around a claimed number


@judge("momentum old_weight stored refused pair eval")
def batch_norm_momentum(values: Values) -> Judgement:
    """Running statistics of torch's batch norm, and its treatment of small batches."""
    measured = values["torch"]
    holds = [
        abs(measured.old_weight - measured.momentum) < CLAIM_TOLERANCE,
        not measured.unbiased,
        not measured.refused,
        measured.eval < MAX_INDEPENDENT_CHANGE,
    ]
    table = {
        "what": [
            "weight of the old mean",
            "unbiased variance stored",
            "batch of one",
            "batch of two",
            "training against eval",
        ],
        "found": [
            f"{measured.old_weight:.4f}",
            "yes" if measured.unbiased else "no",
            measured.refused or "no error",
            f"±{measured.pair:.4f}",
            number(measured.eval, 4),
        ],
    }
    stored = "unbiased" if measured.unbiased else "biased"
    refused = "an error" if measured.refused else "accepted"
    return Judgement(verdict(holds), vars(measured) | {"stored": stored, "refused": refused}, table)
