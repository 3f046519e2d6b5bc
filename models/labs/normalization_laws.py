"""Properties of norms: how short an unbiased one is, Jacobians, leaks between tokens, the cost of scale."""

from collections.abc import Callable
from dataclasses import dataclass
from math import erf, sqrt

import numpy as np

from models.labs.normalization import normalised

SATURATED = 0.1  # share of an activation's largest slope below which it is saturated
MAX_STEPS = 200_000
TINY_EPS = 2.0**-23  # torch's default eps of rms norm in 32 bits


def shortfall(features: int) -> float:
    """By how much the norm by hand is too short, for small eps: 1 - sqrt((d - 1) / d)."""
    return 1 - float(np.sqrt((features - 1) / features))


def jacobian(x_D: np.ndarray, method: str, eps: float = 1e-5) -> np.ndarray:
    """d y / d x of one token, (D, D): (I - 1 1'/D - x^ x^'/D) / scale for layer norm; rms norm lacks the middle term.

    ValueError if the token has no spread and eps is 0.
    """
    x = np.asarray(x_D, float)
    norm = normalised(x[None], method, eps=eps)
    if norm.undefined.any():
        raise ValueError("This token has no spread and eps is 0: the norm has no derivative here.")
    unit, size = norm.values[0], len(x)
    middle = np.ones((size, size)) / size if method == "layer norm" else 0.0
    return (np.eye(size) - middle - np.outer(unit, unit) / size) / norm.scale[0, 0]


def told(x_TD: np.ndarray, method: str, token: int, **settings: object) -> np.ndarray:
    """The largest change in each token's result when the first number of one token grows by 1, (T,)."""
    moved = np.array(x_TD, float)
    moved[token, 0] += 1
    before, after = (normalised(x, method, **settings).values for x in (x_TD, moved))  # type: ignore[arg-type]
    return np.asarray(np.abs(after - before).max(1))


def with_outlier(x_TD: np.ndarray, token: int, feature: int, far: float) -> np.ndarray:
    """The table with one token's number moved `far` ranges of its feature beyond the maximum; a range of 0 is 1."""
    moved = np.array(x_TD, float)
    column = moved[:, feature]
    moved[token, feature] = column.max() + far * (float(np.ptp(column)) or 1.0)
    return moved


def left_over(x_TD: np.ndarray, token: int, feature: int, method: str, eps: float = 1e-5) -> float:
    """The range of all other tokens' normalised numbers in a feature."""
    return float(np.ptp(np.delete(normalised(x_TD, method, eps=eps).values[:, feature], token)))


def share_left(x_TD: np.ndarray, token: int, feature: int, method: str) -> float:
    """The range of the others as a share of the whole range of the normalised feature; NaN for a range of 0."""
    whole = float(np.ptp(normalised(x_TD, method).values[:, feature]))
    return left_over(x_TD, token, feature, method) / whole if whole else np.nan


def robust_left_over(x_TD: np.ndarray, token: int, feature: int) -> float:
    """As `left_over`, of (x - median) / IQR, with quartiles as numpy interpolates them; NaN for an IQR of 0."""
    column = np.asarray(x_TD, float)[:, feature]
    low, high = np.percentile(column, [25, 75])
    return float(np.ptp(np.delete(column, token))) / float(high - low) if high > low else np.nan


def below(x_N: np.ndarray, at: int) -> tuple[float, float, float]:
    """The z-score (variance over n) of a number among others, and the shares of a Gaussian and of them below it."""
    x = np.asarray(x_N, float)
    z = float(normalised(x[:, None], "z-score").values[at, 0])
    return z, (1 + erf(z / sqrt(2))) / 2, float((x < x[at]).mean())


@dataclass(frozen=True)
class Slopes:
    """An activation's slopes over a table: largest |input|, share that is saturated, least slope, RMS of the slope."""

    largest: float
    saturated: float
    least: float
    rms: float


def slopes(x_TD: np.ndarray, slope: Callable[[np.ndarray], np.ndarray], *, normed: bool, eps: float = 1e-5) -> Slopes:
    """An activation's slope, largest at 0, at every number of a table (T, D), or of the table behind layer norm."""
    z = normalised(x_TD, "layer norm", eps=eps).values if normed else np.asarray(x_TD, float)
    found, most = slope(z), float(slope(np.zeros(1))[0])
    return Slopes(
        float(np.abs(z).max()),
        float((found < SATURATED * most).mean()),
        float(found.min()),
        float(np.sqrt((found**2).mean())),
    )


def sized(x_D: np.ndarray, spread: float) -> np.ndarray:
    """The token with mean 0 and this (biased) standard deviation. ValueError if it has no spread."""
    x = np.asarray(x_D, float) - np.mean(x_D)
    if x.std() == 0:
        raise ValueError("All features of this token are equal, so it cannot be stretched.")
    return x * (spread / x.std())


def features_apart(ratio: float) -> np.ndarray:
    """Four samples of two independent features (4, 2), the second `ratio` times larger: curvatures 1 and ratio²."""
    return np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], float) * (1.0, ratio)


def curvatures(x_ND: np.ndarray) -> np.ndarray:
    """The curvatures of least squares on these features, (D,): the eigenvalues of X'X / n, smallest first."""
    return np.linalg.eigvalsh(x_ND.T @ x_ND / len(x_ND))


def squares(x_ND: np.ndarray) -> np.ndarray:
    """What (a + b)² = a² + 2ab + b² of two features (N, 2) has on average: a², 2ab and b², (3,)."""
    a, b = np.asarray(x_ND, float).T
    return np.array([(a * a).mean(), 2 * (a * b).mean(), (b * b).mean()])


def descent_steps(x_ND: np.ndarray, *, target: float = 1e-3, most: int = MAX_STEPS) -> int | None:
    """Steps of gradient descent on least squares with these features, at learning rate 1 / largest curvature.

    Starts at distance 1 in every weight and ends at `target` of the initial distance; None if `most` steps fail.
    """
    hessian = x_ND.T @ x_ND / len(x_ND)
    away = np.ones(len(hessian))
    rate, goal = 1 / curvatures(x_ND)[-1], target * float(np.linalg.norm(away))
    for step in range(most + 1):
        if np.sqrt(away @ away) <= goal:
            return step
        away = away - rate * (hessian @ away)
    return None
