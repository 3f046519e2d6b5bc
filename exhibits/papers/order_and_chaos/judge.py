"""Judges the result: Wide random nets are ordered or chaotic; only between the two can a deep net be trained."""

import numpy as np

from models.experiment import Judgement, Lines, Plane, Values, judge
from models.papers.judging import Statements, geometric_mean, judge_statements, per_layer


@judge("measured formula scale expected missed")
def order_to_chaos(values: Values, *, statements: Statements) -> Judgement:
    """Gradient factor per layer below, at and above the edge of chaos, against chi, and two depth scales in chaos."""
    computed = values["numbers"]
    by_seed = {variance: 1 / per_layer(profile) for variance, profile in computed["profiles"].items()}
    formula = computed["chi"]
    slopes_of_gap = per_layer(computed["gaps"])
    ratio = np.log(computed["correlation slope"]) / np.log(slopes_of_gap)
    measured = [by_seed[variance] / formula[variance] for variance in by_seed] + [ratio]
    names = dict(zip(by_seed, ("order", "edge", "chaos"), strict=True))
    high = list(by_seed)[-1]
    profiles = {}
    for variance, name in names.items():
        rows = computed["profiles"][variance]
        profiles[f"{name} ({variance:g})"] = geometric_mean(rows, 0) / geometric_mean(rows[:, -1])
    table = {
        "weight variance": list(by_seed),
        "factor per layer": [float(geometric_mean(factors)) for factors in by_seed.values()],
        "χ of the formula": list(formula.values()),
    }
    places = tuple(str(layer) for layer in range(len(next(iter(profiles.values())))))
    lines = Lines("Gradient over that at the last layer", "mean square, ratio", profiles, places, "layer")
    plane = Plane(
        title="Order and chaos",
        unit="gradient's factor per layer",
        x="weight variance",
        y="bias variance",
        xs=computed["xs"],
        ys=computed["ys"],
        cells=computed["cells"],
        edge=computed["edge"],
        edge_name="χ = 1 (formula)",
    )
    numbers = {
        "measured": {names[variance]: float(geometric_mean(factors)) for variance, factors in by_seed.items()},
        "formula": {names[variance]: value for variance, value in formula.items()},
        "scale": {
            "gradient": 1 / abs(np.log(float(geometric_mean(by_seed[high])))),
            "correlation": -1 / np.log(float(geometric_mean(slopes_of_gap))),
        },
        "expected": {
            "gradient": 1 / abs(np.log(formula[high])),
            "correlation": -1 / np.log(computed["correlation slope"]),
        },
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines, plane=plane)
