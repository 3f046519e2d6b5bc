"""Judges the claim on copies."""

from models.claims.judging import verdict
from models.experiment import Judgement, Values, judge


@judge("apart")
def layers_start_different(values: Values) -> Judgement:
    """Whether the layers of `nn.TransformerEncoder` start with different weights."""
    measured = dict(zip(values["torch"].names, values["torch"].apart, strict=True))
    table = {"encoder": list(measured), "difference": list(measured.values())}
    return Judgement(verdict([measured["nn.TransformerEncoder"] > 0]), {"apart": measured}, table)
