"""Judges the result: A tanh with a learned slope can replace the norms of a transformer."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.insight.baseline import loss_of_guessing
from models.papers.judging import FINAL_STEPS, Statements, final_losses, judge_statements, spread


@judge("ends without missed")
def no_norm_needed(values: Values, *, statements: Statements) -> Judgement:
    """Final losses with layer norm, dynamic tanh and no norm, with skips and without."""
    worst = {name: loss_of_guessing("digits" if name.endswith("no skip") else "book") for name in values}
    ends = {name: final_losses({name: traces}, worst[name])[name] for name, traces in values.items()}
    measured = [ends["dynamic tanh"] - ends["layer norm"], ends["dynamic tanh"] - ends["no norm"]]
    nets = ("dynamic tanh", "layer norm", "no norm")
    curves = {name: np.mean([_block_means(trace.loss) for trace in values[name]], axis=0) for name in nets}
    places = tuple(str(FINAL_STEPS * point) for point in range(len(curves["layer norm"])))
    lines = Lines("Loss in training, mean of the seeds", "cross-entropy", curves, places, "step", "linear")
    numbers = {
        "ends": {name: float(ends[name].mean()) for name in nets},
        "without": {name: float(ends[f"{name}, no skip"].mean()) for name in nets[:2]},
    }
    return judge_statements(statements, measured, numbers, table=spread("loss", ends), lines=lines)


def _block_means(loss: np.ndarray) -> np.ndarray:
    """Means over FINAL_STEPS steps each; a remainder is dropped."""
    end = len(loss) // FINAL_STEPS * FINAL_STEPS
    return np.asarray(loss[:end], float).reshape(-1, FINAL_STEPS).mean(1)
