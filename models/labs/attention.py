"""Attention on tables small enough to follow by hand: scores, masks, softmax, weighted sum, scaling.

Legend: n query tokens, m key tokens, d features of a token, d_k of a query or key, d_v of a value.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Head:
    """An attention head's computation: q (n, d_k), k (m, d_k), v (m, d_v); scores to weights (n, m); output (n, d_v).

    `scores` are q·k, `scaled` are divided by `divisor` and -inf where masked, `weights` their softmax.
    """

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    scores: np.ndarray
    divisor: float
    seen: np.ndarray
    scaled: np.ndarray
    weights: np.ndarray
    output: np.ndarray


def softmax(scores: np.ndarray) -> np.ndarray:
    """Softmax along the last axis; -inf gets 0, and a row of only -inf is all 0."""
    scores = np.asarray(scores, float)
    top = scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = powers.sum(axis=-1, keepdims=True)
    return np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)


def visible(n: int, m: int, *, causal: bool = False, pads: frozenset[int] = frozenset()) -> np.ndarray:
    """Which tokens (columns, counted from 0) a row may attend to, (n, m): neither later ones nor padding."""
    seen = np.tril(np.ones((n, m), bool)) if causal else np.ones((n, m), bool)
    seen[:, sorted(at for at in pads if at < m)] = False
    return seen


def divisor(scaling: str, d_k: int, d_model: int) -> float:
    """The divisor of scores for a name of a scaling; √d_k, by one head's key size, is Vaswani 2017 (1706.03762)."""
    return {"√d_k": d_k**0.5, "√d_model": d_model**0.5, "none": 1.0}[scaling]


def attend(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    *,
    by: float,
    seen: np.ndarray | None = None,
    plus: np.ndarray | float = 0.0,
) -> Head:
    """softmax(q kᵀ / by + plus) v over what is seen: queries (n, d_k), keys (m, d_k), values (m, d_v), plus (n, m)."""
    scores = q @ k.T
    seen = np.ones(scores.shape, bool) if seen is None else seen
    scaled = np.where(seen, scores / by + plus, -np.inf)
    weights = softmax(scaled)
    return Head(q, k, v, scores, by, seen, scaled, weights, weights @ v)


def entropy(weights: np.ndarray) -> np.ndarray:
    """Entropy of each row of weights in nats: 0 if one token gets all, ln m if all get the same."""
    logs = np.log(np.where(weights > 0, weights, 1.0))
    return np.asarray(-(weights * logs).sum(-1))


def variance(scores: np.ndarray, seen: np.ndarray) -> float:
    """Biased variance of the unmasked scores."""
    return float(np.var(scores[seen])) if seen.any() else float("nan")


def heads(
    x: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray, count: int, *, causal: bool = False
) -> list[Head]:
    """x (n, d) through `count` attention heads, each with an equal share of the matrices' columns.

    ValueError if the columns cannot be divided equally.
    """
    if w_q.shape[1] % count or w_v.shape[1] % count:
        raise ValueError(
            f"{w_q.shape[1]} columns cannot be divided among {count} heads; legal are divisors of {w_q.shape[1]}"
        )
    parts = zip(*(np.split(x @ w, count, axis=1) for w in (w_q, w_k, w_v)), strict=True)
    seen = visible(len(x), len(x), causal=causal)
    return [attend(q, k, v, by=q.shape[1] ** 0.5, seen=seen) for q, k, v in parts]


# --- why √d_k ---


@dataclass(frozen=True)
class Sampled:
    """Statistics of `draws` random q·k of size d_k: mean and variance; and, for softmaxes over KEYS of them, mean
    entropy in nats, mean largest weight p, and mean p(1 - p), the slope of the softmax.
    """

    d_k: int
    draws: int
    mean: float
    variance: float
    entropy: float
    largest: float
    slope: float


KEYS = 8
DRAWS = 4000


def sampled(d_k: int, *, by: float, draws: int = DRAWS, seed: int = 0) -> Sampled:
    """An experiment: q·k / by, for q and k with independent standard normal entries."""
    source = np.random.default_rng([seed, d_k])
    dots = (source.standard_normal((draws, d_k)) * source.standard_normal((draws, d_k))).sum(1) / by
    weights = softmax(dots[: draws // KEYS * KEYS].reshape(-1, KEYS))
    top = weights.max(1)
    spread = float(entropy(weights).mean()), float(top.mean()), float((top * (1 - top)).mean())
    return Sampled(d_k, draws, float(dots.mean()), float(dots.var()), *spread)


# --- what attention is and is not ---


def straightness(
    x: np.ndarray, y: np.ndarray, weights: tuple[np.ndarray, np.ndarray, np.ndarray], by: float
) -> tuple[float, float]:
    """Largest |A(x + y) - A(x) - A(y)|, with the attention weights of x held fixed, and with each input's own.

    The first is 0 up to rounding, because a weighted sum is linear; the second is not: weights depend on the input.
    """
    w_q, w_k, w_v = weights

    def own(z: np.ndarray) -> np.ndarray:
        return attend(z @ w_q, z @ w_k, z @ w_v, by=by).output

    fixed = attend(x @ w_q, x @ w_k, x @ w_v, by=by).weights
    held = fixed @ ((x + y) @ w_v) - fixed @ (x @ w_v) - fixed @ (y @ w_v)
    return float(np.abs(held).max()), float(np.abs(own(x + y) - own(x) - own(y)).max())


def reach(n: int, *, recurrent: bool) -> np.ndarray:
    """Sequential steps from token j (column) to token i (row), (n, n); -1 if there is no way.

    A recurrent cell passes information from token to token; causal attention does it in one step.
    """
    ago = np.arange(n)[:, None] - np.arange(n)
    return np.where(ago < 0, -1, ago + 1 if recurrent else 1)
