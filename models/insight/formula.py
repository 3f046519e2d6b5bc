"""The sentence that compares a law at initialisation with its measurement."""

import numpy as np

from models.insight.theory import Law
from models.insight.words import number

NEAR = 1.1  # factor by which a law may miss the range of the seeds and still count as agreeing


def geometric_mean(rows: np.ndarray) -> np.ndarray:
    """The geometric mean over seeds, (K, S) -> (S,): products of random factors are log-normal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.exp(np.log(rows).mean(0))


def relative(grad_norm: np.ndarray) -> np.ndarray:
    """Gradient lengths (K, S) as multiples of each seed's last one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return grad_norm / grad_norm[:, -1:]


def formula_sentence(law: Law, mean_square: np.ndarray, grad_norm: np.ndarray) -> str:
    """The predicted and the measured factors over depth, (K, S), or why there is no prediction."""
    gradient = relative(grad_norm)
    if law.mean_square is None:
        return (
            f"{law.reading[:1].upper()}{law.reading[1:]}, so only the measurement is drawn: the mean square of the "
            f"stream changes by a factor of {number(geometric_mean(mean_square)[-1])} over depth, the gradient from "
            "the "
            f"end to the input by {number(geometric_mean(gradient)[0])}."
        )
    text = "By the formula " + _compared(
        "the mean square of the stream changes over depth", law.mean_square, mean_square
    )
    if law.gradient is None:
        return f"{text} Of the gradient there is only the measurement: {law.reading}."
    return f"{text} {_compared('The gradient changes on its way back', law.gradient[::-1], gradient[:, ::-1])}"


def _compared(what: str, law: np.ndarray, rows: np.ndarray) -> str:
    """A law (S,) beside its measurement (K, S), at the end of the path."""
    ends = rows[:, -1]
    verdict = "agree" if ends.min() / NEAR <= law[-1] <= ends.max() * NEAR else "disagree"
    span = f"{number(ends.min())} to {number(ends.max())}"
    return f"{what} by a factor of {number(law[-1])}; {len(rows)} seeds {verdict} ({span})."
