"""Judges the claim: Batch norm normalises each token."""

from models.claims.judging import MAX_INDEPENDENT_CHANGE, verdict
from models.experiment import Judgement, Values, judge


@judge("batch layer")
def per_token(values: Values) -> Judgement:
    """Change of a token after each norm when another token or sequence changes."""
    measured = values["torch"]
    changes = dict(zip(measured.norm, zip(measured.future, measured.neighbour, strict=True), strict=True))
    batch, layer = changes["BatchNorm1d on (B, D, T)"], changes["LayerNorm(D)"]
    table = {"norm": measured.norm, "last token changed": measured.future, "other sequence changed": measured.neighbour}
    return Judgement(
        verdict([change <= MAX_INDEPENDENT_CHANGE for change in batch]), {"batch": batch, "layer": layer}, table
    )
