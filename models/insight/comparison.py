"""Sentences that compare several runs: which has the lowest held-out loss, and how signal and gradient compare.

A run is a list of traces, one for each seed; numbers over several seeds are medians.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.insight.baseline import BETTER_BELOW, LEARNED_BELOW, guess_in_words, loss_of_guessing
from models.insight.outcome import has_learned
from models.insight.words import number
from models.trace import Trace

MAX_LEVEL_RATIO = 1.1  # of two losses that count as level
Runs = Mapping[str, Sequence[Trace]]


@dataclass(frozen=True)
class _Standing:
    """Held-out loss and accuracy of a run at one step by seed, (K,); infinite and 0 for seeds that have diverged."""

    loss: np.ndarray
    accuracy: np.ndarray
    divergence_steps: list[int]

    @property
    def median_loss(self) -> float:
        return float(np.median(self.loss))

    def sentence(self, name: str) -> str:
        steps = self.divergence_steps
        if not np.isfinite(self.median_loss):
            return f"{name} diverged at step {min(steps)}" if steps else f"{name} has no finite loss"
        diverged = f", {len(steps)} of {len(self.loss)} seeds diverged" if steps else ""
        return f"{name} {number(self.median_loss)} ({float(np.median(self.accuracy)):.0%} right{diverged})"


def learners_sentence(runs: Runs, task: str) -> str:
    """Number of seeds that learned, for each finished run."""
    guessing = loss_of_guessing(task)
    counts = {name: sum(has_learned(trace, guessing) for trace in traces) for name, traces in runs.items()}
    return "; ".join(f"{name} learned in {count} of {len(runs[name])} seeds" for name, count in counts.items()) + "."


def ranking_sentence(runs: Runs, row: int, task: str) -> str:
    """The run with the lowest held-out loss at a row, by which factor it leads, and whether all seeds agree."""
    standings = {name: _standing(traces, row) for name, traces in runs.items()}
    best = min(standings.values(), key=lambda standing: standing.median_loss)
    seeds = len(best.loss)
    medians = f", medians of {seeds} seeds" if seeds > 1 else ""
    losses = "; ".join(standing.sentence(name) for name, standing in standings.items())
    return f"At step {row}, {_ranking(standings, task)}. Held-out loss{medians}: {losses}."


def _ranking(standings: Mapping[str, _Standing], task: str) -> str:
    """How the two runs with the lowest losses compare, or how the runs compare with guessing if none has learned."""
    guessing, guess = loss_of_guessing(task), guess_in_words(task)
    order = sorted(standings, key=lambda name: standings[name].median_loss)
    best, second = (standings[name] for name in order[:2])
    if not np.isfinite(best.median_loss):
        return "none has a finite loss"
    if best.median_loss > LEARNED_BELOW * guessing:
        better = [name for name in order if standings[name].median_loss < BETTER_BELOW * guessing]
        if not better:
            return f"none is better than {guess}"
        return f"{' and '.join(better)} {'is' if len(better) == 1 else 'are'} slightly better than {guess}"
    if not np.isfinite(second.median_loss):
        return f"{order[0]} alone is left"
    if second.median_loss < MAX_LEVEL_RATIO * best.median_loss:
        return f"{order[0]} and {order[1]} are level"
    ratio = number(second.median_loss / best.median_loss, 2)
    agreement = ""
    if len(best.loss) > 1:
        agreement = ", for every seed" if best.loss.max() < second.loss.min() else ", not for every seed"
    return f"{order[0]} is ahead: {order[1]}'s loss is {ratio} times as large{agreement}"


def signal_sentence(runs: Runs, row: int) -> str:
    """Signal at the end of the stream, and gradient at the input over gradient at the end, for each run.

    The step is named for row 0 only; for later rows `ranking_sentence` precedes this one and names it.
    """
    act = {name: _median(traces, row, "act_rms", -1) for name, traces in runs.items()}
    first = {name: _median(traces, row, "grad_rms", 0) for name, traces in runs.items()}
    last = {name: _median(traces, row, "grad_rms", -1) for name, traces in runs.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        grad = {name: np.float64(first[name]) / last[name] for name in runs}
    signal = "The signal" if row else "Before training the signal"
    return f"{signal} at the end of the stream is {_with_names(act)}{_gradient_clause(grad)}."


def _standing(traces: Sequence[Trace], row: int) -> _Standing:
    loss, accuracy, divergence_steps = [], [], []
    for trace in traces:
        frame, divergence = trace.frame_at(row), trace.divergence
        if divergence is not None and row >= divergence.step:
            frame = None
            divergence_steps.append(divergence.step)
        finite = frame is not None and np.isfinite(frame.held_out_loss)
        loss.append(frame.held_out_loss if frame and finite else np.inf)
        accuracy.append(frame.held_out_accuracy if frame and finite else 0.0)
    return _Standing(np.array(loss), np.array(accuracy), divergence_steps)


def _median(traces: Sequence[Trace], row: int, series: str, site: int) -> float:
    """Median over seeds of a trace's value at a site, of logarithms as in the charts; NaN without a finite value.

    A trace that ends before `row` counts with its last row.
    """
    values = np.array([getattr(trace, series)[min(row, len(trace) - 1), site] for trace in traces], float)
    with np.errstate(divide="ignore"):
        logs = np.log(values[np.isfinite(values)])
    return float(np.exp(np.median(logs))) if len(logs) else float("nan")


def _with_names(values: Mapping[str, float]) -> str:
    return ", ".join(
        f"{number(value)} ({name})" if np.isfinite(value) else f"lost ({name})" for name, value in values.items()
    )


def _gradient_clause(ratios: Mapping[str, np.float64]) -> str:
    """How the gradient grows on its way back, for the runs with a finite ratio; empty if there is none."""
    finite = [f"{number(ratio, 2)} times ({name})" for name, ratio in ratios.items() if np.isfinite(ratio)]
    if not finite:
        return ""
    joined = " and ".join(filter(None, (", ".join(finite[:-1]), finite[-1])))
    return f"; the gradient at the input is {joined} that at the end"
