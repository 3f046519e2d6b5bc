"""Judges the claim: Weights below 1 make gradients vanish."""

from models.claims.judging import MAX_VANISHED_SHARE, gradient, gradient_lines, verdict
from models.experiment import Judgement, Values, judge


@judge("gradients median largest count")
def small_weights(values: Values) -> Judgement:
    """Whether the gradient vanishes in nets of several widths with equally distributed weights."""
    weights = values["numbers"]
    signals = {name: value for name, value in values.items() if name != "numbers"}
    measured = {name: gradient(value) for name, value in signals.items()}
    table = {"net": list(measured), "gradient, start over end": list(measured.values())}
    answer = verdict([value < MAX_VANISHED_SHARE and weights["largest"] < 1 for value in measured.values()])
    return Judgement(answer, weights | {"gradients": measured}, table, gradient_lines(signals))
