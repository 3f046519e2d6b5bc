"""What several runs beside each other show: which has the lowest held-out loss, by what, and how their sizes compare.

A run is a list of traces, one a seed; numbers of several seeds are medians.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.insight.baseline import BETTER, LEARNT, guess_in_words, loss_of_guessing
from models.insight.outcome import learned
from models.insight.words import number
from models.trace import Trace

CLOSE = 1.1  # factor up to which two losses are level
Runs = Mapping[str, Sequence[Trace]]


@dataclass(frozen=True)
class _Stand:
    """How a run stands at a step: held-out loss and accuracy by seed (K,), infinite and 0 where it has diverged."""

    loss: np.ndarray
    accuracy: np.ndarray
    lost: list[int]  # the steps at which seeds diverged

    @property
    def middle(self) -> float:
        return float(np.median(self.loss))

    def said(self, name: str) -> str:
        if not np.isfinite(self.middle):
            return f"{name} diverged at step {min(self.lost)}" if self.lost else f"{name} has no finite loss"
        lost = f", {len(self.lost)} of {len(self.loss)} seeds diverged" if self.lost else ""
        return f"{name} {number(self.middle)} ({float(np.median(self.accuracy)):.0%} right{lost})"


def learners(runs: Runs, task: str) -> str:
    """How many seeds of each finished run learned."""
    guessing = loss_of_guessing(task)
    counts = {name: sum(learned(trace, guessing) for trace in traces) for name, traces in runs.items()}
    return "; ".join(f"{name} learned in {count} of {len(runs[name])} seeds" for name, count in counts.items()) + "."


def ahead(runs: Runs, row: int, task: str) -> str:
    """Which run has the lowest held-out loss at a row, by what, and whether all seeds agree."""
    guessing, guess = loss_of_guessing(task), guess_in_words(task)
    stands = {name: _stand(traces, row) for name, traces in runs.items()}
    order = sorted(stands, key=lambda name: stands[name].middle)
    best, second = (stands[name] for name in order[:2])
    seeds = len(best.loss)
    of = f", medians of {seeds} seeds" if seeds > 1 else ""
    each = f"held-out loss{of}: {'; '.join(one.said(name) for name, one in stands.items())}"
    if not np.isfinite(best.middle):
        verdict = "none has a finite loss"
    elif best.middle > LEARNT * guessing:
        better = [one for one in order if stands[one].middle < BETTER * guessing]
        verdict = f"{' and '.join(better)} {'is' if len(better) == 1 else 'are'} slightly better than {guess}"
        verdict = verdict if better else f"none is better than {guess}"
    elif not np.isfinite(second.middle):
        verdict = f"{order[0]} alone is left"
    elif second.middle < CLOSE * best.middle:
        verdict = f"{order[0]} and {order[1]} are level"
    else:
        every = best.loss.max() < second.loss.min()
        surely = (", for every seed" if every else ", not for every seed") if seeds > 1 else ""
        times = f"{number(second.middle / best.middle, 2)} times as large"
        verdict = f"{order[0]} is ahead: {order[1]}'s loss is {times}{surely}"
    return f"At step {row}, {verdict}. {each[:1].upper()}{each[1:]}."


def sizes(runs: Runs, row: int) -> str:
    """How large the signal is at the end of the stream, and the gradient at the input next to that at the end.

    Later than before training it stands behind `ahead`, which says the step.
    """
    act = {name: _middle(traces, row, "act_rms", -1) for name, traces in runs.items()}
    first, last = ({name: _middle(traces, row, "grad_rms", at) for name, traces in runs.items()} for at in (0, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        grad = {name: np.float64(first[name]) / last[name] for name in runs}
    signal = "The signal" if row else "Before training the signal"
    return f"{signal} at the end of the stream is {_listed(act)}{_over(grad)}."


def _stand(traces: Sequence[Trace], row: int) -> _Stand:
    loss, accuracy, lost = [], [], []
    for trace in traces:
        frame, outcome = trace.frame_at(row), trace.divergence
        gone = outcome is not None and row >= outcome.rest_step
        there = not gone and frame is not None and np.isfinite(frame.held_out_loss)
        loss.append(frame.held_out_loss if there and frame else np.inf)
        accuracy.append(frame.held_out_accuracy if there and frame else 0.0)
        lost += [outcome.step] if gone and outcome else []
    return _Stand(np.array(loss), np.array(accuracy), lost)


def _middle(traces: Sequence[Trace], row: int, series: str, at: int) -> float:
    """The median over seeds, of logarithms as in the charts, of one number of a row or else the last row."""
    values = np.array([getattr(trace, series)[min(row, len(trace) - 1), at] for trace in traces], float)
    with np.errstate(divide="ignore"):
        logs = np.log(values[np.isfinite(values)])
    return float(np.exp(np.median(logs))) if len(logs) else float("nan")


def _listed(values: Mapping[str, float]) -> str:
    """Each with its name."""
    return ", ".join(
        f"{number(value)} ({name})" if np.isfinite(value) else f"lost ({name})" for name, value in values.items()
    )


def _over(ratios: Mapping[str, np.float64]) -> str:
    """How the gradient grows on its way back, of the runs that have one."""
    there = [f"{number(ratio, 2)} times ({name})" for name, ratio in ratios.items() if np.isfinite(ratio)]
    if not there:
        return ""
    listed = " and ".join(filter(None, (", ".join(there[:-1]), there[-1])))
    return f"; the gradient at the input is {listed} that at the end"
