"""Judges the result: Batch norm makes the loss smoother; it does not help by steadying the inputs of layers."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.insight.baseline import loss_of_guessing
from models.papers.judging import FINAL_STEPS, Statements, judge_statements, means, measures, spread


@judge("change ends missed")
def smoother(values: Values, *, statements: Statements) -> Judgement:
    """Change of the gradient along a step, and final losses: batch norm, no norm, and noise after the norm.

    A run that diverges counts with the loss of guessing. Of the changes measured along a run the median counts, because
    the last ones before it diverges are of any size.
    """
    names = ("batch norm", "no norm", "batch norm and noise")
    descents = {name: measures(values, name) for name in names}
    changes = {name: np.array([np.nanmedian(measure.change[1:]) for measure in of]) for name, of in descents.items()}
    ends = {name: np.array([_bounded_end(measure.loss) for measure in of]) for name, of in descents.items()}
    measured = [
        changes["no norm"] / changes["batch norm"],
        ends["no norm"] - ends["batch norm"],
        ends["no norm"] - ends["batch norm and noise"],
    ]
    table = spread("loss", ends) | {"change, mean": list(means(changes).values())}
    curves = {name: np.nanmedian([measure.change for measure in of], axis=0) for name, of in descents.items()}
    places = tuple(str(step) for step in descents["batch norm"][0].steps)
    lines = Lines("Gradient's change along a step", "times its length", curves, places, "step", "linear")
    numbers = {"change": means(changes), "ends": means(ends)}
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


def _bounded_end(loss: np.ndarray) -> float:
    """Mean of the last losses of a run on digits, at most that of guessing."""
    end, worst = float(loss[-FINAL_STEPS:].mean()), loss_of_guessing("digits")
    return min(end, worst) if np.isfinite(end) else worst
