"""Judges the result: A tanh with a learned slope can replace the norms of a transformer."""

from models.experiment import Judgement, Values, judge
from models.insight.baseline import loss_of_guessing
from models.papers.judging import Statements, final_losses, judge_statements, spread, training_lines


@judge("ends without missed")
def no_norm_needed(values: Values, *, statements: Statements) -> Judgement:
    """Final losses with layer norm, dynamic tanh and no norm, with skips and without."""
    worst = {name: loss_of_guessing("digits" if name.endswith("no skip") else "book") for name in values}
    ends = {name: final_losses({name: traces}, worst[name])[name] for name, traces in values.items()}
    measured = [ends["dynamic tanh"] - ends["layer norm"], ends["dynamic tanh"] - ends["no norm"]]
    nets = ("dynamic tanh", "layer norm", "no norm")
    numbers = {
        "ends": {name: float(ends[name].mean()) for name in nets},
        "without": {name: float(ends[f"{name}, no skip"].mean()) for name in nets[:2]},
    }
    return judge_statements(
        statements, measured, numbers, table=spread("loss", ends), lines=training_lines(values, nets)
    )
