"""Judges the result: A deeper plain net has a higher training error; a deeper residual net does not."""

from models.experiment import Judgement, Values, judge
from models.insight.baseline import loss_of_guessing
from models.papers.judging import LOSS_STEPS, Statements, final_losses, judge_statements, means, spread, training_lines


@judge("ends missed")
def degradation(values: Values, *, statements: Statements, shallow: str, deep: str) -> Judgement:
    """Final training losses by net and seed: plain nets get worse with depth, residual nets do not."""
    ends = final_losses(values, loss_of_guessing("digits"))
    measured = [
        ends[f"plain, {deep}"] - ends[f"plain, {shallow}"],
        ends[f"residual, {deep}"] - ends[f"residual, {shallow}"],
        ends[f"plain, {deep}"] - ends[f"residual, {deep}"],
    ]
    curve_names = [f"{net}, {size}" for net in ("plain", "residual") for size in (shallow, deep)]
    lines = training_lines(values, curve_names, LOSS_STEPS)
    numbers = {"ends": means(ends)}
    return judge_statements(statements, measured, numbers, table=spread("loss", ends), lines=lines)
