"""Judges the result: Batch norm without skips makes gradients explode, whatever the weights."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.papers.judging import Statements, geometric_mean, judge_statements, per_layer, spread


@judge("relu formula linear skip missed")
def norm_explodes(values: Values, *, statements: Statements) -> Judgement:
    """Gradient factor per layer with batch norm, without layer 1, whose input has another distribution."""
    profiles = values["numbers"]
    by_seed = {name: 1 / per_layer(rows[:, 1:]) for name, rows in profiles.items()}
    factor = {name: float(geometric_mean(factors)) for name, factors in by_seed.items()}
    formula = float(np.pi / (np.pi - 1))
    curves = {name: geometric_mean(rows / rows[:, -1:], 0)[1:] for name, rows in profiles.items()}
    count = len(curves["ReLU"])
    curves["(π/(π−1))^layers"] = formula ** np.arange(count - 1, -1, -1.0)
    order = ("ReLU", "linear", "(π/(π−1))^layers", "ReLU with a skip")
    places = tuple(str(index + 1) for index in range(count))
    ordered_curves = {name: curves[name] for name in order}
    lines = Lines("Gradient over that at the last layer", "mean square", ordered_curves, places, "layer")
    numbers = {
        "relu": factor["ReLU"],
        "formula": formula,
        "linear": factor["linear"],
        "skip": factor["ReLU with a skip"],
    }
    measured = [by_seed["ReLU"], by_seed["linear"], by_seed["ReLU with a skip"]]
    return judge_statements(statements, measured, numbers, table=spread("factor per layer", by_seed), lines=lines)
