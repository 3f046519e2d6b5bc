"""Judges the result: Attention over depth keeps what a block reads from growing, and does better than a sum."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.insight.baseline import loss_of_guessing
from models.papers.judging import (
    FINAL_STEPS,
    Statements,
    final_losses,
    geometric_mean,
    judge_statements,
    means,
    spread,
)


@judge("sizes gradients ends missed")
def even_over_depth(values: Values, *, statements: Statements) -> Judgement:
    """Spread over depth of sizes and of the blocks' gradients after training, and final losses."""
    ends = final_losses(values, loss_of_guessing("book"))
    sizes = {net: np.stack([trace.act_rms[-1] for trace in traces]).astype(float) for net, traces in values.items()}
    slopes = {
        net: np.stack([trace.weight_grad_rms[-FINAL_STEPS:].mean(0, float) for trace in traces])
        for net, traces in values.items()
    }
    size, gradient = ({net: _decades(of) for net, of in by_net.items()} for by_net in (sizes, slopes))
    summed, attended = "pre-norm", "attention residuals"
    growth = np.log10(sizes[summed][:, -1] / sizes[summed][:, 0])
    measured = [
        growth,
        size[summed] - size[attended],
        gradient[summed] - gradient[attended],
        ends[attended] - ends[summed],
    ]
    numbers = {
        "sizes": {net: float(10 ** of.mean()) for net, of in size.items()},
        "gradients": {net: float(10 ** of.mean()) for net, of in gradient.items()},
        "ends": means(ends),
    }
    places = tuple(f"{site}" for site in values[summed][0].sites)
    lines = Lines("Size after training", "RMS", {net: geometric_mean(of, 0) for net, of in sizes.items()}, places)
    return judge_statements(statements, measured, numbers, table=spread("loss", ends), lines=lines)


def _decades(rows: np.ndarray) -> np.ndarray:
    """log10 of the largest over the smallest of each row, (K,)."""
    return np.asarray(np.log10(rows.max(1) / rows.min(1)))
