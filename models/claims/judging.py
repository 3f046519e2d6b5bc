"""What the judges of claims share: verdicts, and what is read off a signal before training."""

from collections.abc import Mapping, Sequence

import numpy as np

from models.answers import SignalAtInit
from models.experiment import Lines
from models.insight.formula import geometric_mean

HOLDS, FAILS, PARTLY = "the claim holds", "the claim fails", "the claim holds only"


def verdict(holds: Sequence[bool]) -> str:
    """HOLDS if a claim holds in all cases tried, FAILS if in none, else PARTLY."""
    return HOLDS if all(holds) else PARTLY if any(holds) else FAILS


def growth(signal: SignalAtInit) -> float:
    """The stream's mean square at its end over that at its start, mean over seeds."""
    square = geometric_mean(signal.mean_square)
    return float(square[-1] / square[0])


def gradient(signal: SignalAtInit) -> float:
    """The gradient at the stream's start over that at its end, mean over seeds."""
    norm = geometric_mean(signal.grad_norm)
    return float(norm[0] / norm[-1])


def size_lines(signals: Mapping[str, SignalAtInit]) -> Lines:
    """The mean square of the stream over depth, by net."""
    squares = {name: geometric_mean(signal.mean_square) for name, signal in signals.items()}
    return Lines("Mean square of the stream", "mean square", squares)


def gradient_lines(signals: Mapping[str, SignalAtInit]) -> Lines:
    """The gradient over that at the stream's end, by net."""
    return Lines("Gradient over its end", "ratio", {name: lengths(signal) for name, signal in signals.items()})


def lengths(signal: SignalAtInit) -> np.ndarray:
    """The gradient over that at the stream's end (S,), mean over seeds."""
    norm = geometric_mean(signal.grad_norm)
    return np.asarray(norm / norm[-1])
