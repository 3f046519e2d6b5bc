"""Judges the claim: RMS norm is layer norm without the mean, so the result is the same."""

from models.claims.judging import SAME_RELATIVE, verdict
from models.experiment import Judgement, Values, judge


@judge("apart lost input_rms rms rms_eps layer layer_eps")
def rms_norm(values: Values) -> Judgement:
    """Difference between RMS norm and layer norm."""
    numbers, small = values["numbers"], values["torch"]
    apart, ratio = numbers["apart"], small.rms / small.layer
    holds = [
        apart["with its mean"] < SAME_RELATIVE,
        apart["centred"] < SAME_RELATIVE,
        abs(ratio - 1) < SAME_RELATIVE,
    ]
    table = {
        "case": ["token with a mean", "centred token", "RMS norm of a tiny token", "layer norm of a tiny token"],
        "number": [*apart.values(), small.rms, small.layer],
        "what it is": ["largest difference", "largest difference", "RMS after", "RMS after"],
    }
    return Judgement(verdict(holds), numbers | vars(small) | {"ratio": ratio}, table)
