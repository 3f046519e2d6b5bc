"""Judges the claim: Sigmoid gradients shrink by 1/4 per layer; ReLU's do not."""

from models.claims.judging import gradient_lines, relative_gradient, verdict
from models.experiment import Judgement, Values, judge
from models.insight.theory import factor_per_sublayer

FACTOR_TOLERANCE = 0.05  # relative difference up to which two factors count as equal


@judge("factors condition")
def factor_per_layer(values: Values, *, claimed: dict[str, float]) -> Judgement:
    """Gradient factor per layer, against the factor `claimed` for the activation."""
    measured = {name: 1 / factor_per_sublayer(relative_gradient(value)) for name, value in values.items()}
    near = {name: abs(value / claimed[name.split(",")[0]] - 1) < FACTOR_TOLERANCE for name, value in measured.items()}
    holds_for_he = any(near[name] for name in measured if name.endswith(", he"))
    condition = "if the net has ReLU and He's initialisation" if holds_for_he else "if the weights are chosen for it"
    table = {"net": list(measured), "factor per layer": list(measured.values())}
    numbers = {"factors": measured, "condition": condition}
    return Judgement(verdict(list(near.values())), numbers, table, gradient_lines(values))
