"""Judges the result: In pre-norm the deep blocks hardly contribute."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.papers.judging import Statements, geometric_mean, judge_statements, late_lesion_costs, means, spread


@judge("size formula exponent late missed")
def curse_of_depth(values: Values, *, statements: Statements, v: float) -> Judgement:
    """Growth of the stream with and without LayerNorm scaling, and loss without a late block after training."""
    nets = ("pre-norm", "LayerNorm scaling")
    rows = {net: values[f"{net}, before training"].mean_square for net in nets}
    squares = {net: geometric_mean(of, 0) for net, of in rows.items()}
    blocks = np.arange(1, len(squares["pre-norm"]))
    expected = {"pre-norm": 1 + v * blocks[-1], "LayerNorm scaling": 1 + v * float((1 / blocks).sum())}
    growth = {net: of[:, -1] / of[:, 0] for net, of in rows.items()}
    logs = np.log(rows["pre-norm"])
    half = len(blocks) // 2
    exponent = (logs[:, -1] - logs[:, half]) / (logs[:, half] - logs[:, 0])
    late = {net: late_lesion_costs(values, net) for net in nets}
    measured = [
        exponent,
        growth["pre-norm"] / expected["pre-norm"],
        growth["LayerNorm scaling"] / expected["LayerNorm scaling"],
        late["LayerNorm scaling"] - late["pre-norm"],
    ]
    table = spread("loss without a late block", late)
    table |= {"growth of the mean square": list(means(growth).values()), "formula": list(expected.values())}
    numbers = {
        "size": means(growth),
        "formula": expected,
        "exponent": float(exponent.mean()),
        "late": means(late),
    }
    lines = Lines("Mean square of the stream", "mean square", squares)
    return judge_statements(statements, measured, numbers, table=table, lines=lines)
