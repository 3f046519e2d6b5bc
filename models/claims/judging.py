"""Shared by the judges of claims: verdicts, bounds, and figures of a signal before training."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from models.answers import SignalAtInit
from models.content import Texts
from models.experiment import Judgement, Lines, Values, judge
from models.insight.formula import geometric_mean
from models.insight.outcome import final_loss
from models.trace import Trace

TEXTS = Texts("judges")

HOLDS = "the claim holds"
FAILS = "the claim fails"
PARTLY = "the claim holds only"
UNDECIDED = "the claim is undecided"
GUESSES = {"true": HOLDS, "false": FAILS, "true only if ...": PARTLY}  # verdict by option of a visitor's guess
SAME_FACTOR = 1.5  # two sizes or branch shares within this factor count as the same
MAX_VANISHED_SHARE = 0.1  # share of the gradient below which it has vanished
SAME_RELATIVE = 1e-3  # relative difference up to which two results count as the same
MAX_INDEPENDENT_CHANGE = 1e-6  # a smaller change of a result shows no dependence
MAX_ROUNDING = 1e-9  # difference, relative to the result, that rounding explains


def verdict(holds: Sequence[bool]) -> str:
    """HOLDS if a claim holds in all cases, FAILS if it holds in none, else PARTLY."""
    if all(holds):
        return HOLDS
    return PARTLY if any(holds) else FAILS


def finite_loss(trace: Trace) -> float:
    """Final loss; NaN after a divergence."""
    return math.nan if trace.divergence else final_loss(trace)


def loss_or_divergence(trace: Trace) -> float | str:
    """Final loss, or the step of the divergence in words: for claims about whether a net learns."""
    return TEXTS("at step", step=trace.divergence.step) if trace.divergence else final_loss(trace)


def growth(signal: SignalAtInit) -> float:
    """Mean square of the stream, end over start, geometric mean over seeds."""
    square = geometric_mean(signal.mean_square)
    return float(square[-1] / square[0])


def gradient(signal: SignalAtInit) -> float:
    """Gradient norm, start of the stream over end, geometric mean over seeds."""
    return float(relative_gradient(signal)[0])


def size_lines(signals: Mapping[str, SignalAtInit]) -> Lines:
    """Chart of the stream's mean square over depth, by net."""
    squares = {name: geometric_mean(signal.mean_square) for name, signal in signals.items()}
    return Lines("Mean square of the stream", "mean square", squares)


def gradient_lines(signals: Mapping[str, SignalAtInit]) -> Lines:
    """Chart of the gradient relative to the stream's end, by net."""
    ratios = {name: relative_gradient(signal) for name, signal in signals.items()}
    return Lines("Gradient over its end", "ratio", ratios)


def relative_gradient(signal: SignalAtInit) -> np.ndarray:
    """Gradient norm at each site relative to the last, (S,), geometric mean over seeds."""
    norm = geometric_mean(signal.grad_norm)
    return np.asarray(norm / norm[-1])


@judge("gradients")
def gradient_ratio(
    values: Values, *, above: float = 0.0, below: float = np.inf, about: str = "", drawn: str = ""
) -> Judgement:
    """Gradient at the stream's start over that at its end, claimed to lie between `above` and `below`.

    The claim covers nets whose names contain `about`; the chart shows those whose names contain `drawn`.
    """
    measured = {name: gradient(value) for name, value in values.items()}
    table = {"net": list(measured), "gradient, start over end": list(measured.values())}
    holds = [above < value < below for name, value in measured.items() if about in name]
    lines = gradient_lines({name: value for name, value in values.items() if drawn in name})
    return Judgement(verdict(holds), {"gradients": measured}, table, lines)
