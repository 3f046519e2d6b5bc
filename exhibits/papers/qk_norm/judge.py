"""Judges the result: A norm on queries and keys widens the range of learning rates."""

from typing import Any

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.insight.outcome import final_loss
from models.papers.judging import Statements, judge_statements, means, measures
from models.trace import Trace


@judge("sensitivity logits missed")
def wide_rates(values: Values, *, statements: Statements, normed: str, bare: str) -> Judgement:
    """Excess of the final loss over the best learning rate's, and the largest logit, with QK-norm and without.

    `normed` and `bare` name the nets with and without QK-norm. The loss of the net before training bounds the excess
    (Wortsman 2023).
    """
    nets = (normed, bare)
    traces = {name: of for name, of in values.items() if ", rate " in name}
    rates = sorted({float(name.split(", rate ")[1]) for name in traces})
    bounded = {
        net: np.array([[_bounded_by_start(trace) for trace in traces[f"{net}, rate {rate:g}"]] for rate in rates])
        for net in nets
    }
    excess = {net: (rows - rows.min(0)).mean(0) for net, rows in bounded.items()}
    logits = {
        net: np.array([measure.max_logit.max() for measure in measures(values, f"{net}, logits")]) for net in nets
    }
    measured = [excess[bare] - excess[normed], np.log10(logits[bare] / logits[normed])]
    table: dict[str, Any] = {"rate": rates}
    for net in nets:
        table |= {f"{net}, mean loss": list(bounded[net].mean(1)), f"{net}, highest": list(bounded[net].max(1))}
    curves = {net: bounded[net].mean(1) for net in nets}
    places = tuple(f"{rate:g}" for rate in rates)
    lines = Lines("Loss at the end over the rate", "cross-entropy", curves, places, "learning rate", "linear")
    numbers = {
        "sensitivity": means(excess),
        "logits": {net: float(np.median(logits[net])) for net in nets},
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


def _bounded_by_start(trace: Trace) -> float:
    return min(final_loss(trace), float(trace.loss[0]))
