"""Judges the result: A gate that starts at 0 on every branch trains far deeper nets, and faster."""

import numpy as np

from models.experiment import Judgement, Values, judge
from models.insight.baseline import loss_of_guessing
from models.papers.judging import (
    LOSS_STEPS,
    Statements,
    final_losses,
    judge_statements,
    means,
    spread,
    training_lines,
)
from models.trace import Trace


@judge("steps ends missed")
def zero_gates(values: Values, *, statements: Statements, level: float) -> Judgement:
    """Steps until the loss is below `level`, by net and depth, for each seed; all of the run's if it never is."""
    steps = {name: np.array([_steps_to(trace, level) for trace in traces]) for name, traces in values.items()}
    depths = sorted({int(name.split(", ")[1]) for name in steps})
    shallow, deep = depths[0], depths[-1]
    longest = max(len(trace.loss) for traces in values.values() for trace in traces)
    counted = {name: np.minimum(by_seed, longest) for name, by_seed in steps.items()}
    measured = [
        counted[f"ReZero, {deep}"] - counted[f"ReZero, {shallow}"],
        np.isfinite(steps[f"ReZero, {deep}"]),
        np.isfinite(steps[f"plain, {deep}"]),
        counted[f"ReZero, {deep}"] - counted[f"pre-norm, {deep}"],
    ]
    ends = means(final_losses(values, loss_of_guessing("digits")))
    drawn = {net: values[f"{net}, {deep}"] for net in ("ReZero", "pre-norm", "plain")}
    lines = training_lines(drawn, list(drawn), LOSS_STEPS, "Loss of the deep nets")
    median_steps = {
        name: f"{np.median(by_seed):.0f}" if np.isfinite(np.median(by_seed)) else "never"
        for name, by_seed in steps.items()
    }
    numbers = {"steps": median_steps, "ends": ends}
    return judge_statements(statements, measured, numbers, table=spread("steps", counted), lines=lines)


def _steps_to(trace: Trace, level: float) -> float:
    """First step at which LOSS_STEPS losses have a mean below `level`; infinite if there is none."""
    below = np.flatnonzero(np.convolve(trace.loss, np.full(LOSS_STEPS, 1 / LOSS_STEPS), "valid") < level)
    return float(below[0]) if len(below) else np.inf
