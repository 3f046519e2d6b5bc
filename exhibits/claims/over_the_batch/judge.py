"""Judges the claim: Layer norm normalises over the batch, or over all tokens of a sequence at once."""

from models.claims.judging import MAX_INDEPENDENT_CHANGE, verdict
from models.experiment import Judgement, Values, judge


@judge("own joint")
def over_the_batch(values: Values) -> Judgement:
    """Change of a token when another sample or a later token changes, for norms over D and over (T, D)."""
    measured = values["torch"]
    by_token = dict(zip(measured.norm, measured.future, strict=True))
    by_sample = dict(zip(measured.norm, measured.neighbour, strict=True))
    sample_norm, joint = "LayerNorm(D)", "LayerNorm([T, D])"
    table = {"norm": measured.norm, "last token changed": measured.future, "other sample changed": measured.neighbour}
    holds = [
        by_sample[sample_norm] > MAX_INDEPENDENT_CHANGE,
        by_sample[joint] > MAX_INDEPENDENT_CHANGE,
        by_token[joint] <= MAX_INDEPENDENT_CHANGE,
    ]
    numbers = {"own": (by_token[sample_norm], by_sample[sample_norm]), "joint": (by_token[joint], by_sample[joint])}
    return Judgement(verdict(holds), numbers, table)
