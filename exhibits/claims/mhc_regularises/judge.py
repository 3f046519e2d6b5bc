"""Judges the claim: mHC is only a regulariser of hyper-connections."""

from models.claims.judging import SAME_FACTOR, gradient, growth, size_lines, verdict
from models.experiment import Judgement, Values, judge


@judge("growth gradients")
def nothing_before_training(values: Values, *, free: str, bound: str) -> Judgement:
    """Whether signal and gradient of untrained nets change as much without Sinkhorn's iterations as with them."""
    grows = {name: growth(value) for name, value in values.items()}
    returns = {name: gradient(value) for name, value in values.items()}
    holds = [max(of[free], of[bound]) < SAME_FACTOR * min(of[free], of[bound]) for of in (grows, returns)]
    table = {
        "net": list(grows),
        "mean square, end over start": list(grows.values()),
        "gradient, start over end": list(returns.values()),
    }
    return Judgement(verdict(holds), {"growth": grows, "gradients": returns}, table, size_lines(values))
