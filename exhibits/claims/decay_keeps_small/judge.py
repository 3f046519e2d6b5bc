"""Judges the claim: Weight decay keeps a net with norms simple, because it keeps its weights small."""

import numpy as np

from models.claims.judging import SAME_RELATIVE, verdict
from models.experiment import Judgement, Values, judge


@judge("change angles formula")
def size_matters(values: Values, *, within: float) -> Judgement:
    """Whether the size of a matrix before a norm changes the net, or the angle of a step departs from its formula."""
    formula = {name: float(np.sqrt(2 * rotation.decayed)) for name, rotation in values.items()}
    angles = {name: float(np.sqrt((rotation.angle**2).mean())) for name, rotation in values.items()}
    changes = {name: rotation.change for name, rotation in values.items()}
    holds = [change > SAME_RELATIVE for change in changes.values()]
    holds += [abs(angles[name] / formula[name] - 1) > within for name in values]
    table = {
        "net": list(values),
        "angle at a step": list(angles.values()),
        "formula": list(formula.values()),
        "mean length of a matrix": [float(rotation.length.mean()) for rotation in values.values()],
    }
    numbers = {"change": max(changes.values()), "angles": angles, "formula": formula}
    return Judgement(verdict(holds), numbers, table)
