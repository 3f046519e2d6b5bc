"""Judges the result: Gradient descent drives the sharpness up to 2/rate, and keeps learning at this edge."""

from typing import Any

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.papers.judging import Statements, judge_statements, measured_nets, measures, spread

PLATEAU = 8  # measurements of the sharpness, from the first at 2/rate on, whose median counts


@judge("start hovers level rises missed")
def at_the_edge(values: Values, *, statements: Statements) -> Judgement:
    """Sharpness under full-batch gradient descent, against 2 / rate; a seed's numbers are means over the rates."""
    nets = measured_nets(values)
    descents = {net: measures(values, net) for net in nets}
    level = {net: 2 / of[0].rate for net, of in descents.items()}
    shares = {net: np.stack([measure.sharpness for measure in of]) / level[net] for net, of in descents.items()}
    losses = {net: np.stack([measure.loss for measure in of]) for net, of in descents.items()}
    hovers = {net: np.array([_plateau(row) for row in rows]) for net, rows in shares.items()}
    rises = {net: (np.diff(rows, axis=1) > 0).sum(1) for net, rows in losses.items()}
    measured = [
        np.mean([rows[:, 0] for rows in shares.values()], axis=0),
        np.mean(list(hovers.values()), axis=0),
        np.mean(list(rises.values()), axis=0),
        np.mean([rows[:, -1] / rows[:, 0] for rows in losses.values()], axis=0),
    ]
    table: dict[str, Any] = spread("hovers at", {net: rows * level[net] for net, rows in hovers.items()})
    table |= {"2 / rate": list(level.values()), "steps that raise the loss": [float(r.mean()) for r in rises.values()]}
    curves = {net: np.nanmean(rows * level[net], axis=0) for net, rows in shares.items()}
    places = tuple(str(step) for step in next(iter(descents.values()))[0].steps)
    lines = Lines("Sharpness", "largest eigenvalue", curves, places, "step", "linear", guides=tuple(level.values()))
    numbers = {
        "start": {net: float(np.mean(rows[:, 0] * level[net])) for net, rows in shares.items()},
        "hovers": {net: float(np.mean(hovers[net] * level[net])) for net in nets},
        "level": level,
        "rises": {net: float(np.mean(counts)) for net, counts in rises.items()},
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


def _plateau(shares: np.ndarray) -> float:
    """Median of PLATEAU shares from the first that is at least 1 on; the largest of all if none is."""
    reached = np.flatnonzero(shares >= 1)
    if not len(reached):
        return float(np.nanmax(shares))
    return float(np.nanmedian(shares[reached[0] : reached[0] + PLATEAU]))
