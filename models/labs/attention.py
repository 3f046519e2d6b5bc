"""Attention on tables small enough to follow by hand: scores,
masks, softmax, weighted sum, and what scaling does to them.

Legend: n tokens that look, m tokens that are looked at, d features of a token, d_k of a query or key, d_v of a value.
"""

from dataclasses import dataclass

import numpy as np

SCALINGS = ("√d_k", "√d_model", "none")


@dataclass(frozen=True)
class Head:
    """One head on its way: q (n, d_k), k (m, d_k), v (m, d_v), then (n, m) and at last (n, d_v).

    `scores` are q·k, `scaled` the same over `divisor`, -inf where a token is not seen; `weights` their softmax.
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
    """exp(s) over its sum, along the last axis; -inf gets 0, and a row that sees nothing is all 0."""
    scores = np.asarray(scores, float)
    top = scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = powers.sum(axis=-1, keepdims=True)
    return np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)


def visible(n: int, m: int, *, causal: bool = False, pads: frozenset[int] = frozenset()) -> np.ndarray:
    """Which tokens (columns, counted from 0) a row may look at, (n, m): not what is later, not what is padding."""
    seen = np.tril(np.ones((n, m), bool)) if causal else np.ones((n, m), bool)
    seen[:, sorted(at for at in pads if at < m)] = False
    return seen


def divisor(scaling: str, d_k: int, d_model: int) -> float:
    """What scores are divided by (a key of SCALINGS). Vaswani
    2017 (1706.03762) takes √d_k, the size of one head's keys.
    """
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
    """How spread out each row of weights is, in nats: 0 where one token gets all, ln m where all get the same."""
    logs = np.log(np.where(weights > 0, weights, 1.0))
    return np.asarray(-(weights * logs).sum(-1))


def variance(scores: np.ndarray, seen: np.ndarray) -> float:
    """Biased variance of the scores that are seen."""
    return float(np.var(scores[seen])) if seen.any() else float("nan")


def heads(
    x: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray, count: int, *, causal: bool = False
) -> list[Head]:
    """The same x (n, d) through `count` heads, each with its own equal part of the columns of the matrices.

    ValueError where the columns cannot be shared out evenly.
    """
    if w_q.shape[1] % count or w_v.shape[1] % count:
        raise ValueError(
            f"{w_q.shape[1]} columns cannot be shared by {count} heads; legal are divisors of {w_q.shape[1]}"
        )
    parts = zip(*(np.split(x @ w, count, axis=1) for w in (w_q, w_k, w_v)), strict=True)
    seen = visible(len(x), len(x), causal=causal)
    return [attend(q, k, v, by=q.shape[1] ** 0.5, seen=seen) for q, k, v in parts]


# --- why √d_k: example 12 ---


@dataclass(frozen=True)
class Sampled:
    """What `draws` random q·k of size d_k are like: mean and variance; and rows of KEYS of them after the softmax, mean
    entropy in nats, mean largest weight, and the mean of p(1 - p) of the largest: the slope of the softmax there.
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
    """An experiment: q and k with independent entries of mean 0 and variance 1 (Gaussian), and q·k / by."""
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
    """Largest |A(x + y) - A(x) - A(y)|: with the attention weights of x held fixed, and with everybody's own.

    The first is 0 up to rounding, for a weighted sum is linear; the second is not, for the weights depend on the input.
    """
    w_q, w_k, w_v = weights

    def own(z: np.ndarray) -> np.ndarray:
        return attend(z @ w_q, z @ w_k, z @ w_v, by=by).output

    fixed = attend(x @ w_q, x @ w_k, x @ w_v, by=by).weights
    held = fixed @ ((x + y) @ w_v) - fixed @ (x @ w_v) - fixed @ (y @ w_v)
    return float(np.abs(held).max()), float(np.abs(own(x + y) - own(x) - own(y)).max())


def reach(n: int, *, recurrent: bool) -> np.ndarray:
    """The number of steps, one after the other, in which token j
    (column) gets to token i (row), (n, n); -1 where it never does.

    A recurrent cell passes it on from token to token; causal attention takes all of them at once.
    """
    ago = np.arange(n)[:, None] - np.arange(n)
    return np.where(ago < 0, -1, ago + 1 if recurrent else 1)
