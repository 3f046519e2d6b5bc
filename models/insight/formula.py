"""Comparison of a law at initialisation with its measurement, as a sentence."""

import numpy as np

from models.insight.theory import Law
from models.insight.words import number

TOLERANCE_FACTOR = 1.1  # by which a law may miss the range of the seeds and still agree


def geometric_mean(rows: np.ndarray) -> np.ndarray:
    """Geometric mean over seeds, (K, S) -> (S,), because products of random factors are log-normal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.exp(np.log(rows).mean(0))


def relative_to_last(grad_norm: np.ndarray) -> np.ndarray:
    """Gradient lengths (K, S), each divided by its seed's last one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return grad_norm / grad_norm[:, -1:]


def formula_sentence(law: Law, mean_square: np.ndarray, grad_norm: np.ndarray) -> str:
    """Predicted and measured factors over depth, or why there is no prediction; measurements are (K, S)."""
    gradient = relative_to_last(grad_norm)
    if law.mean_square is None:
        return (
            f"{law.reading[:1].upper()}{law.reading[1:]}, so only the measurement is drawn: the mean square of the "
            f"stream changes by a factor of {number(geometric_mean(mean_square)[-1])} over depth, the gradient from "
            f"the end to the input by {number(geometric_mean(gradient)[0])}."
        )
    stream = _comparison("the mean square of the stream changes over depth", law.mean_square, mean_square)
    if law.gradient is None:
        return f"By the formula {stream} Of the gradient there is only the measurement: {law.reading}."
    back = _comparison("The gradient changes on its way back", law.gradient[::-1], gradient[:, ::-1])
    return f"By the formula {stream} {back}"


def _comparison(clause: str, law: np.ndarray, rows: np.ndarray) -> str:
    """The last value of a law (S,) beside the range of its measurements (K, S)."""
    ends = rows[:, -1]
    agrees = ends.min() / TOLERANCE_FACTOR <= law[-1] <= ends.max() * TOLERANCE_FACTOR
    span = f"{number(ends.min())} to {number(ends.max())}"
    return f"{clause} by a factor of {number(law[-1])}; {len(rows)} seeds {'agree' if agrees else 'disagree'} ({span})."
