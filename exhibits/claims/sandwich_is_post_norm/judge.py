"""Judges the claim: Sandwich norm and post-norm are the same."""

from models.claims.judging import SAME_FACTOR, growth, size_lines, verdict
from models.experiment import Judgement, Values, judge


@judge("growth")
def same_growth(values: Values) -> Judgement:
    """Whether the streams of the first two nets grow by the same factor."""
    measured = {name: growth(value) for name, value in values.items()}
    first, second = list(measured.values())[:2]
    table = {"net": list(measured), "mean square, end over start": list(measured.values())}
    apart = max(first, second) / min(first, second)
    numbers = {"growth": measured, "apart": apart}
    return Judgement(verdict([apart < SAME_FACTOR]), numbers, table, size_lines(values))
