"""Shared by the judges of papers: statements with bounds, their verdict from the seeds' interval, fits, curves."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.content import Texts
from models.experiment import Judgement, Lines, Values, judge
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import RECENT_ROWS, final_loss, recent_losses
from models.trace import Trace

TEXTS = Texts("judges")

# Answers of a verdict, and of one that the seeds do not decide.
HOLDS = "holds here"
PARTLY = "holds in part"
NOT_HERE = "does not show here"
UNDECIDED = "undecided"
# Two-sided 95 % quantiles of Student's t by degrees of freedom, and of the normal distribution.
T_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
NORMAL_QUANTILE = 1.960
LOSS_STEPS = 5  # steps that a point of a training curve averages
FINAL_STEPS = 20  # steps that a final loss averages

Statements = list[dict[str, Any]]  # of a card: arguments of Statement


@dataclass(frozen=True)
class Statement:
    """What a paper says of one number, `number`, and the bounds within which that shows.

    `because`: why it does not show in the toy; empty where it does.
    """

    says: str
    number: str
    at_least: float = -math.inf
    at_most: float = math.inf
    because: str = ""

    @property
    def bound(self) -> str:
        """The bounds in words."""
        if math.isinf(self.at_most):
            return f"at least {self.at_least:g}"
        return f"at most {self.at_most:g}" if math.isinf(self.at_least) else f"{self.at_least:g} to {self.at_most:g}"

    def verdict(self, low: float, high: float) -> str:
        """HOLDS if the interval is within the bounds, NOT_HERE if it is outside, UNDECIDED if it crosses one."""
        if self.at_least <= low and high <= self.at_most:
            return HOLDS
        return NOT_HERE if high < self.at_least or low > self.at_most else UNDECIDED


def interval(by_seed: np.ndarray) -> tuple[float, float, float]:
    """Mean over seeds (K,) and its 95 % interval: Student's t, and Wilson's for a share (booleans)."""
    values = np.asarray(by_seed)
    count, mean = len(values), float(np.mean(values))
    if values.dtype == bool:
        square = NORMAL_QUANTILE**2 / count
        centre = (mean + square / 2) / (1 + square)
        half = math.sqrt(square * mean * (1 - mean) + square**2 / 4) / (1 + square)
        return mean, centre - half, centre + half
    half = T_QUANTILES[count - 2] * float(np.std(values, ddof=1)) / math.sqrt(count)
    return mean, mean - half, mean + half


def judge_statements(
    statements: Statements, measured: Sequence[np.ndarray], numbers: Mapping[str, Any], **shown: Any
) -> Judgement:
    """Judgement of statements from a number per seed, or a boolean, for each: `measured`, (K,) each.

    Adds to `numbers` those that do not show, and why, as `missed`. `shown`: fields of the Judgement to draw, such as
    `table` and `lines`.
    """
    stated = [Statement(**statement) for statement in statements]
    intervals = [interval(by_seed) for by_seed in measured]
    verdicts = [statement.verdict(low, high) for statement, (_, low, high) in zip(stated, intervals, strict=True)]
    shows = [verdict == HOLDS for verdict in verdicts]
    answer = HOLDS if all(shows) else PARTLY if any(shows) else NOT_HERE if NOT_HERE in verdicts else UNDECIDED
    missed = []
    for statement, verdict, (_, low, high) in zip(stated, verdicts, intervals, strict=True):
        if math.isnan(high - low):
            missed.append(f"{statement.says} ({UNDECIDED}: {TEXTS('no number')})")
        elif verdict != HOLDS:
            undecided = f" ({UNDECIDED}: the interval crosses the bound)" if verdict == UNDECIDED else ""
            missed.append(statement.says + undecided + (f", because {statement.because}" if statement.because else ""))
    tests = {
        "statement": [statement.says for statement in stated],
        "number": [statement.number for statement in stated],
        "bound": [statement.bound for statement in stated],
        "mean": [mean for mean, _, _ in intervals],
        "95%, from": [low for _, low, _ in intervals],
        "to": [high for _, _, high in intervals],
        "result": verdicts,
    }
    return Judgement(answer, {**numbers, "missed": "; ".join(missed)}, tests=tests, **shown)


def final_losses(values: Mapping[str, Sequence[Trace]], worst: float) -> dict[str, np.ndarray]:
    """Final training losses by net, one per seed, at most `worst`, which also stands for a run that diverged."""
    return {name: np.array([min(final_loss(trace), worst) for trace in traces]) for name, traces in values.items()}


def measured_nets(values: Mapping[str, Any]) -> list[str]:
    """Names of the nets that an instrument measured under several seeds."""
    return list(dict.fromkeys(name.split(", seed ")[0] for name in values))


def measures(values: Mapping[str, Any], net: str) -> list[Any]:
    """Values of a net that an instrument measured, one per seed."""
    return [value for name, value in values.items() if name.startswith(f"{net}, seed ")]


def means(by_net: Mapping[Any, np.ndarray]) -> dict[Any, float]:
    """Means over the seeds of a number (K,) by net."""
    return {net: float(np.mean(by_seed)) for net, by_seed in by_net.items()}


def spread(of: str, by_net: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Table of a number (K,) by net: mean, least and most of the seeds."""
    return {
        "net": list(by_net),
        f"{of}, mean": list(means(by_net).values()),
        "least seed": [float(np.min(by_seed)) for by_seed in by_net.values()],
        "most": [float(np.max(by_seed)) for by_seed in by_net.values()],
    }


def slope(x: Sequence[float], y: np.ndarray) -> float:
    """Exponent a of y ~ x^a: slope of the least-squares line on log-log axes; NaN unless all y are positive."""
    y = np.asarray(y, float)
    if not (np.isfinite(y) & (y > 0)).all():
        return float("nan")
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(y), 1)[0])


def per_layer(squares: np.ndarray) -> np.ndarray:
    """Factor per layer of each row of mean squares (K, L), by least squares on a log axis, (K,)."""
    rows = np.log(np.asarray(squares, float))
    return np.asarray(np.exp(np.polyfit(np.arange(rows.shape[1]), rows.T, 1)[0]))


def geometric_mean(values: np.ndarray, axis: int | None = None) -> np.ndarray:
    return np.asarray(np.exp(np.log(values).mean(axis)))


def training_lines(
    values: Values, nets: Sequence[str], steps: int = FINAL_STEPS, title: str = "Loss in training, mean of the seeds"
) -> Lines:
    """Training losses of some nets, means over seeds and over `steps` steps each; a remainder is dropped."""
    curves = {net: _curve(values[net], steps) for net in nets}
    places = tuple(str(steps * point) for point in range(max(map(len, curves.values()))))
    return Lines(title, "cross-entropy", curves, places, "step", "linear")


def _curve(traces: Sequence[Trace], steps: int) -> np.ndarray:
    shortest = min(len(trace.loss) for trace in traces) // steps
    loss = np.mean([trace.loss[: shortest * steps] for trace in traces], axis=0, dtype=np.float64)
    return np.asarray(loss.reshape(shortest, steps).mean(1))


def steps_to_final_loss(traces: Sequence[Trace], others: Sequence[Trace]) -> np.ndarray:
    """Steps to the final loss of another net, seed by seed, as a share of the steps that it takes itself, (K,).

    The loss is reached after the first RECENT_ROWS losses with a mean of at most it; all steps count if there are none.
    """

    def steps(trace: Trace, level: float) -> int:
        reached = np.flatnonzero(recent_losses(trace.loss) <= level)
        return int(reached[0]) + RECENT_ROWS if len(reached) else len(trace.loss)

    levels = [final_loss(other) for other in others]
    return np.array([steps(*pair) for pair in zip(traces, levels, strict=True)]) / [
        steps(*pair) for pair in zip(others, levels, strict=True)
    ]


def late_lesion_costs(values: Values, net: str) -> np.ndarray:
    """Mean rise of the loss without a block, over the last third of the blocks, (K,): of “net, lesions”, by seed."""
    rises = [measure.skipped_loss - measure.loss for measure in measures(values, f"{net}, lesions")]
    return np.array([float(of[-len(of) // 3 :].mean()) for of in rises])


@judge("ends missed")
def final_differences(values: Values, *, statements: Statements, pairs: list[list[str]], task: str) -> Judgement:
    """Final loss of the first net of each pair minus that of the second."""
    ends = final_losses(values, loss_of_guessing(task))
    measured = [ends[first] - ends[second] for first, second in pairs]
    lines = training_lines(values, list(values))
    return judge_statements(statements, measured, {"ends": means(ends)}, table=spread("loss", ends), lines=lines)
