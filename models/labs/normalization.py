"""Every normalisation of the lab on a table of tokens by features, with the statistics it used. numpy, float64.

Legend: T tokens (rows), D features (columns), G groups of features.
"""

from dataclasses import dataclass

import numpy as np

TOKEN, FEATURE, GROUP, CELL = "token", "feature", "group of features of a token", "number alone"

# Over what each method takes its statistics: the cells that share a colour.
SHARED = {
    "layer norm": TOKEN,
    "rms norm": TOKEN,
    "group norm": GROUP,
    "batch norm": FEATURE,
    "instance norm": FEATURE,
    "min-max": FEATURE,
    "z-score": FEATURE,
    "dynamic tanh": CELL,
}
MOMENTUM = 0.1  # torch's: the weight of the new batch (the paper and TensorFlow name the weight of the old, 0.9)


@dataclass(frozen=True)
class Normed:
    """The normalised table (T, D), and for every cell the centre and the scale it was moved and divided by, (T, D)."""

    values: np.ndarray
    centre: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True)
class Running:
    """Batch norm's memory: running mean and variance by feature, (D,)."""

    mean: np.ndarray
    variance: np.ndarray


def normalised(
    x_TD: np.ndarray,
    method: str,
    *,
    eps: float = 1e-5,
    gain: float | np.ndarray = 1.0,
    bias: float | np.ndarray = 0.0,
    unbiased: bool = False,
    groups: int = 1,
    alpha: float = 0.5,
    counted: np.ndarray | None = None,
    running: Running | None = None,
) -> Normed:
    """The table by one method of SHARED. `counted` (T,): which tokens enter statistics over tokens; `running`: batch norm in use.

    ValueError where the statistics do not exist: batch norm in training on one token, groups that do not divide D.
    """
    x = np.asarray(x_TD, float)
    counts = np.ones(len(x), bool) if counted is None else np.asarray(counted, bool)
    if method == "dynamic tanh":
        centre, scale, raw = np.zeros_like(x), np.ones_like(x), np.tanh(alpha * x)
    else:
        over = Over(eps, unbiased, groups, counts, running)
        centre, scale = _statistics(x, method, over)
        raw = (x - centre) / np.where(scale == 0, 1.0, scale)
    return Normed(gain * raw + bias, centre, scale)


@dataclass(frozen=True)
class Over:
    """What statistics are taken with: eps, division by n - 1, groups of features, which tokens count, batch norm's memory."""

    eps: float
    unbiased: bool
    groups: int
    counts: np.ndarray
    running: Running | None


def _statistics(x: np.ndarray, method: str, over: Over) -> tuple[np.ndarray, np.ndarray]:
    if method == "layer norm":
        return _whole(x, x.mean(1, keepdims=True), np.sqrt(x.var(1, ddof=int(over.unbiased), keepdims=True) + over.eps))
    if method == "rms norm":
        return _whole(x, np.zeros((len(x), 1)), np.sqrt((x**2).mean(1, keepdims=True) + over.eps))
    if method == "group norm":
        return _by_group(x, over.groups, over.eps, over.unbiased)
    if method == "batch norm" and over.running is not None:
        return _whole(x, over.running.mean[None], np.sqrt(over.running.variance[None] + over.eps))
    if not over.counts.any():
        raise ValueError("Every token is padding: there is nothing to take statistics of.")
    seen = x[over.counts]
    if method == "min-max":
        return _whole(x, seen.min(0, keepdims=True), np.ptp(seen, 0, keepdims=True))
    if len(seen) == 1 and (over.unbiased or method != "z-score"):
        raise ValueError(f"{method.capitalize()} in training needs more than one token: one alone has no spread.")
    added = 0.0 if method == "z-score" else over.eps
    return _whole(x, seen.mean(0, keepdims=True), np.sqrt(seen.var(0, ddof=int(over.unbiased), keepdims=True) + added))


def _whole(x: np.ndarray, centre: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.broadcast_to(centre, x.shape), np.broadcast_to(scale, x.shape)


def _by_group(x: np.ndarray, groups: int, eps: float, unbiased: bool) -> tuple[np.ndarray, np.ndarray]:
    tokens, features = x.shape
    if groups < 1 or features % groups:
        raise ValueError(f"{groups} groups do not divide {features} features.")
    if unbiased and features == groups:
        raise ValueError("A group of one feature has no unbiased variance.")
    parts = x.reshape(tokens, groups, -1)
    size = features // groups
    centre = parts.mean(2).repeat(size, axis=1)
    scale = np.sqrt(parts.var(2, ddof=int(unbiased)) + eps).repeat(size, axis=1)
    return centre, scale


def remembered(x_TD: np.ndarray, batches: int, counted: np.ndarray | None = None) -> Running:
    """Running statistics after `batches` training steps on this batch: they start at 0 and 1, and the variance is unbiased."""
    x = np.asarray(x_TD, float) if counted is None else np.asarray(x_TD, float)[np.asarray(counted, bool)]
    if batches and len(x) < 2:
        raise ValueError("Batch norm in training needs more than one token: one alone has no spread.")
    old = (1 - MOMENTUM) ** batches
    if not batches:
        return Running(np.zeros(np.shape(x_TD)[1]), np.ones(np.shape(x_TD)[1]))
    return Running((1 - old) * x.mean(0), old + (1 - old) * x.var(0, ddof=1))


def by_hand(x_D: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    """Layer norm as many notes write it: (x - mean) / (std + eps) with the unbiased std, and eps outside the root."""
    x = np.asarray(x_D, float)
    return (x - x.mean()) / (x.std(ddof=1) + eps)


def jacobian(x_D: np.ndarray, method: str, eps: float = 1e-5) -> np.ndarray:
    """d y / d x of one token, (D, D): (I - 1 1'/D - x^ x^'/D) / sigma for layer norm; rms norm lacks the middle term."""
    x = np.asarray(x_D, float)
    centred = x - x.mean() if method == "layer norm" else x
    scale = np.sqrt((centred**2).mean() + eps)
    unit, size = centred / scale, len(x)
    middle = np.ones((size, size)) / size if method == "layer norm" else np.zeros((size, size))
    return (np.eye(size) - middle - np.outer(unit, unit) / size) / scale


def descent_steps(curvatures: tuple[float, ...], *, target: float = 1e-3, most: int = 200_000) -> int | None:
    """Steps of gradient descent on 1/2 sum c_i w_i^2 from w = 1, at learning rate 1 / max c, until |w| <= target |w_0|.

    None where `most` steps are not enough.
    """
    curvature, w = np.array(curvatures, float), np.ones(len(curvatures))
    rate, goal = 1 / curvature.max(), target * np.sqrt(len(curvatures))
    for step in range(most + 1):
        if np.sqrt((w * w).sum()) <= goal:
            return step
        w = w - rate * curvature * w
    return None
