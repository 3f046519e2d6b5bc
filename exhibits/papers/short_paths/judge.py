"""Judges the result: A residual net is like an ensemble of short paths: take a block out, and it still works."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.papers.judging import Statements, judge_statements, measures, spread


@judge("left plain lengths formula missed")
def short_paths(values: Values, *, statements: Statements, v: float) -> Judgement:
    """Accuracy of trained nets without each block, and mean length of gradient paths.

    `v` is the variance gain of a branch.
    """
    lesions = {net: measures(values, net) for net in ("residual", "plain")}
    drops = np.array([np.median(measure.accuracy - measure.skipped_accuracy) for measure in lesions["residual"]])
    left = np.array([measure.skipped_accuracy.max() for measure in lesions["plain"]])
    squares = [np.square(paths.length) for paths in measures(values, "paths")]
    lengths = np.array([float((np.arange(len(square)) * square).sum() / square.sum()) for square in squares])
    formula = (len(squares[0]) - 1) * v / (1 + v)
    by_number = {"residual: accuracy lost": drops, "plain: most that is left": left, "mean path length": lengths}
    table = spread("value", by_number)
    table["number"] = table.pop("net")
    curves = {net: np.mean([measure.skipped_accuracy for measure in of], 0) for net, of in lesions.items()}
    places = tuple(str(index + 1) for index in range(max(map(len, curves.values()))))
    lines = Lines("Accuracy without one block", "held-out", curves, places, "block taken out", "linear")
    numbers = {
        "left": float(drops.mean()),
        "plain": float(left.mean()),
        "lengths": float(lengths.mean()),
        "formula": formula,
    }
    return judge_statements(statements, [drops, left, lengths / formula], numbers, table=table, lines=lines)
