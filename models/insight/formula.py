"""How a law at initialisation and its measurement compare, in a sentence."""

import numpy as np

from models.insight.theory import Law, rate

NEAR = 1.1  # factor by which a law may lie outside what the seeds span and still be said to agree


def middle(rows: np.ndarray) -> np.ndarray:
    """The geometric mean over seeds (K, S) -> (S,): products of random factors are log-normal."""
    with np.errstate(divide="ignore"):
        return np.exp(np.log(rows).mean(0))


def relative(grad_norm: np.ndarray) -> np.ndarray:
    """Gradient lengths (K, S) over the last one of each seed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return grad_norm / grad_norm[:, -1:]


def formula_sentence(law: Law, mean_square: np.ndarray, grad_norm: np.ndarray) -> str:
    """The factors over depth and per sublayer, predicted and measured (K, S); or why there is no prediction."""
    gradient = relative(grad_norm)
    if law.mean_square is None:
        return (
            f"{law.reading[:1].upper()}{law.reading[1:]}, so only the measurement is drawn: the mean square of the stream "
            f"changes by a factor of {middle(mean_square)[-1]:.3g} over depth, the gradient from the end to x0 by "
            f"{middle(gradient)[0]:.3g}."
        )
    text = _compared("The mean square of the stream changes over depth by", law.mean_square, mean_square, -1)
    if law.gradient is None:
        return f"{text} Of the gradient there is only the measurement: {law.reading}."
    return f"{text} {_compared('The gradient changes on its way back by', law.gradient, gradient, 0)}"


def _compared(what: str, law: np.ndarray, rows: np.ndarray, at: int) -> str:
    low, high = rows[:, at].min() / NEAR, rows[:, at].max() * NEAR
    verdict = "within what the seeds span" if low <= law[at] <= high else "outside what the seeds span"
    return (
        f"{what} {law[at]:.3g} by the formula, {verdict}: {len(rows)} seeds have {middle(rows)[at]:.3g} "
        f"({rows[:, at].min():.3g} to {rows[:, at].max():.3g}). "
        f"Per sublayer that is a factor of {rate(law):.4g} by the formula and {rate(middle(rows)):.4g} fitted."
    )
