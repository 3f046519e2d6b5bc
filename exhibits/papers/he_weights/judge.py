"""Judges the result: After a ReLU, weights need the variance 2/n; with Xavier's, thirty layers learn nothing."""

import numpy as np

from models.experiment import Judgement, Values, judge
from models.insight.baseline import LEARNED_BELOW, loss_of_guessing
from models.papers.judging import (
    LOSS_STEPS,
    Statements,
    final_losses,
    geometric_mean,
    judge_statements,
    means,
    per_layer,
    spread,
    training_lines,
)


@judge("he xavier back ends chance learn missed")
def he_weights(values: Values, *, statements: Statements) -> Judgement:
    """Factors per layer, forward and backward, and final losses, with He and Xavier initialisation."""
    signals = {name: values[f"{name}, before training"] for name in ("He", "Xavier")}
    forward = {name: per_layer(signal.mean_square) for name, signal in signals.items()}
    back = {name: 1 / per_layer(np.square(signal.grad_norm)) for name, signal in signals.items()}
    chance = loss_of_guessing("digits")
    traces = {name: values[f"{name}, trained"] for name in signals}
    ends = final_losses(traces, chance)
    learnt = {name: losses < LEARNED_BELOW * chance for name, losses in ends.items()}
    measured = [forward["He"], back["He"], forward["Xavier"], learnt["He"], learnt["Xavier"]]
    table = {
        "weights": list(signals),
        "factor per layer": [float(geometric_mean(factors)) for factors in forward.values()],
        "of the gradient": [float(geometric_mean(factors)) for factors in back.values()],
    } | {name: column for name, column in spread("loss", ends).items() if name != "net"}
    numbers = {
        "he": float(geometric_mean(forward["He"])),
        "xavier": float(geometric_mean(forward["Xavier"])),
        "back": float(geometric_mean(back["He"])),
        "chance": chance,
        "ends": means(ends),
        "learn": {name: int(of.sum()) for name, of in learnt.items()},
    }
    return judge_statements(
        statements, measured, numbers, table=table, lines=training_lines(traces, list(traces), LOSS_STEPS)
    )
