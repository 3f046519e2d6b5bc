"""Attention on tables small enough to follow by hand: scores, masks, softmax, weighted sum, scaling. numpy, float64.

Legend: n query tokens, m key tokens, d features of a token, d_k of a query or key, d_v of a value.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Matrices = tuple[np.ndarray, np.ndarray, np.ndarray]  # W_Q (d, d_k), W_K (d, d_k), W_V (d, d_v)


@dataclass(frozen=True)
class Head:
    """The steps of one attention head: q (n, d_k), k (m, d_k), v (m, d_v); scores to weights (n, m); output (n, d_v).

    `scores`: q·k. `mask`: True where a query may attend. `scaled`: scores over `divisor`, -inf where masked.
    `weights`: softmax of `scaled`.
    """

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    scores: np.ndarray
    divisor: float
    mask: np.ndarray
    scaled: np.ndarray
    weights: np.ndarray
    output: np.ndarray


def softmax(scores: np.ndarray) -> np.ndarray:
    """Softmax along the last axis; -inf gets 0, and a row of only -inf is all 0."""
    scores = np.asarray(scores, float)
    top = scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = exponentials.sum(axis=-1, keepdims=True)
    return np.divide(exponentials, total, out=np.zeros_like(exponentials), where=total > 0)


def attention_mask(n: int, m: int, *, causal: bool = False, pads: frozenset[int] = frozenset()) -> np.ndarray:
    """True where a query (row) may attend to a token (column), (n, m): not to later tokens or `pads`."""
    mask = np.tril(np.ones((n, m), bool)) if causal else np.ones((n, m), bool)
    mask[:, sorted(pad for pad in pads if pad < m)] = False
    return mask


def attend(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    *,
    divisor: float,
    mask: np.ndarray | None = None,
    bias: np.ndarray | float = 0.0,
) -> Head:
    """softmax(q kᵀ / divisor + bias) v where `mask` is True, for q (n, d_k), k (m, d_k), v (m, d_v), bias (n, m)."""
    scores = q @ k.T
    mask = np.ones(scores.shape, bool) if mask is None else mask
    scaled = np.where(mask, scores / divisor + bias, -np.inf)
    weights = softmax(scaled)
    return Head(q, k, v, scores, divisor, mask, scaled, weights, weights @ v)


def entropy(weights: np.ndarray) -> np.ndarray:
    """Entropy of each row of weights in nats: 0 for a one-hot row, ln m for a uniform one."""
    logs = np.log(np.where(weights > 0, weights, 1.0))
    return np.asarray(-(weights * logs).sum(-1))


def variance(scores: np.ndarray, mask: np.ndarray) -> float:
    """Biased variance of the unmasked scores."""
    return float(np.var(scores[mask])) if mask.any() else float("nan")


def heads(
    x: np.ndarray,
    w_q: np.ndarray,
    w_k: np.ndarray,
    w_v: np.ndarray,
    count: int,
    *,
    mask: np.ndarray | None = None,
    scaled: bool = True,
) -> list[Head]:
    """Attention of x (n, d) by `count` heads, each with an equal share of the matrices' columns.

    ValueError if the columns cannot be divided equally.
    """
    if w_q.shape[1] % count or w_v.shape[1] % count:
        raise ValueError(
            f"{w_q.shape[1]} columns cannot be divided among {count} heads; legal are divisors of {w_q.shape[1]}"
        )
    parts = zip(*(np.split(x @ w, count, axis=1) for w in (w_q, w_k, w_v)), strict=True)
    return [attend(q, k, v, divisor=q.shape[1] ** 0.5 if scaled else 1.0, mask=mask) for q, k, v in parts]


# --- why √d_k ---


@dataclass(frozen=True)
class ScoreStatistics:
    """Statistics of `draws` random scores q·k of size d_k, and means over softmaxes of KEYS such scores.

    `entropy`: in nats. `largest`: largest weight p. `slope`: p(1 - p), the derivative of p by its score.
    """

    d_k: int
    draws: int
    mean: float
    variance: float
    entropy: float
    largest: float
    slope: float


KEYS = 8  # scores of one softmax
DRAWS = 4000  # random scores


def score_statistics(
    d_k: int, *, divisor: float, draws: int = DRAWS, seed: int = 0, mean: float = 0.0
) -> ScoreStatistics:
    """Statistics of q·k / divisor, for q and k with independent normal entries of this mean and variance 1."""
    (statistics,) = statistics_by_divisor(d_k, [divisor], draws=draws, seed=seed, mean=mean)
    return statistics


def statistics_by_divisor(
    d_k: int, divisors: Sequence[float], *, draws: int = DRAWS, seed: int = 0, mean: float = 0.0
) -> list[ScoreStatistics]:
    """Statistics of the same draws over each divisor. q·k has mean `mean`² d_k and variance (1 + 2 `mean`²) d_k."""
    products = score_draws(d_k, draws=draws, seed=seed, mean=mean)
    results = []
    for divisor in divisors:
        dots = products / divisor
        weights = softmax(dots[: draws // KEYS * KEYS].reshape(-1, KEYS))
        top = weights.max(1)
        results.append(
            ScoreStatistics(
                d_k,
                draws,
                mean=float(dots.mean()),
                variance=float(dots.var()),
                entropy=float(entropy(weights).mean()),
                largest=float(top.mean()),
                slope=float((top * (1 - top)).mean()),
            )
        )
    return results


def score_draws(d_k: int, *, draws: int = DRAWS, seed: int = 0, mean: float = 0.0) -> np.ndarray:
    """Random q·k with d_k independent normal entries of this mean and variance 1, (draws,)."""
    rng = np.random.default_rng([seed, d_k])
    products = rng.standard_normal((draws, d_k)) + mean
    products *= rng.standard_normal((draws, d_k)) + mean
    return np.asarray(products.sum(1))


# --- what attention is and is not ---


def linearity_errors(
    x: np.ndarray, y: np.ndarray, weights: tuple[np.ndarray, np.ndarray, np.ndarray], divisor: float
) -> tuple[float, float]:
    """Largest |A(x + y) - A(x) - A(y)| with the attention weights fixed at those of x, and with each input's own.

    The first is 0 up to rounding, because a weighted sum is linear; the second is not, as weights depend on the input.
    """
    w_q, w_k, w_v = weights

    def attended(z: np.ndarray) -> np.ndarray:
        return attend(z @ w_q, z @ w_k, z @ w_v, divisor=divisor).output

    weights_x = attend(x @ w_q, x @ w_k, x @ w_v, divisor=divisor).weights
    fixed_error = weights_x @ ((x + y) @ w_v) - weights_x @ (x @ w_v) - weights_x @ (y @ w_v)
    return float(np.abs(fixed_error).max()), float(np.abs(attended(x + y) - attended(x) - attended(y)).max())
