"""Attention on tables small enough to follow by hand: scores, masks, softmax, weighted sum, scaling.

Legend: n query tokens, m key tokens, d features of a token, d_k of a query or key, d_v of a value.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

Shape = tuple[int, ...]
Matrices = tuple[np.ndarray, np.ndarray, np.ndarray]  # W_Q (d, d_k), W_K (d, d_k), W_V (d, d_v)


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
    x: np.ndarray,
    w_q: np.ndarray,
    w_k: np.ndarray,
    w_v: np.ndarray,
    count: int,
    *,
    seen: np.ndarray | None = None,
    scaled: bool = True,
) -> list[Head]:
    """x (n, d) through `count` attention heads, each with an equal share of the matrices' columns.

    ValueError if the columns cannot be divided equally.
    """
    if w_q.shape[1] % count or w_v.shape[1] % count:
        raise ValueError(
            f"{w_q.shape[1]} columns cannot be divided among {count} heads; legal are divisors of {w_q.shape[1]}"
        )
    parts = zip(*(np.split(x @ w, count, axis=1) for w in (w_q, w_k, w_v)), strict=True)
    return [attend(q, k, v, by=q.shape[1] ** 0.5 if scaled else 1.0, seen=seen) for q, k, v in parts]


def writes(parts: list[Head], w_o: np.ndarray) -> np.ndarray:
    """What each head adds to the stream, (h, n, d): its output times its own rows of W_O (h d_v, d)."""
    rows = np.split(w_o, len(parts))
    return np.array([part.output @ own for part, own in zip(parts, rows, strict=True)])


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


def sampled(d_k: int, *, by: float, draws: int = DRAWS, seed: int = 0, mean: float = 0.0) -> Sampled:
    """An experiment: q·k / by, for q and k with independent normal entries of this mean and variance 1."""
    (found,) = sampled_over(d_k, [by], draws=draws, seed=seed, mean=mean)
    return found


def sampled_over(
    d_k: int, divisors: Sequence[float], *, draws: int = DRAWS, seed: int = 0, mean: float = 0.0
) -> list[Sampled]:
    """The same draws over each of the divisors. Their mean is mean² d_k, their variance (1 + 2 mean²) d_k, over by."""
    products = score_draws(d_k, draws=draws, seed=seed, mean=mean)
    results = []
    for by in divisors:
        dots = products / by
        weights = softmax(dots[: draws // KEYS * KEYS].reshape(-1, KEYS))
        top = weights.max(1)
        spread = float(entropy(weights).mean()), float(top.mean()), float((top * (1 - top)).mean())
        results.append(Sampled(d_k, draws, float(dots.mean()), float(dots.var()), *spread))
    return results


FACES = 6


def score_draws(d_k: int, *, draws: int = DRAWS, seed: int = 0, mean: float = 0.0) -> np.ndarray:
    """Random q·k of size d_k, of independent normal entries of this mean and variance 1, (draws,)."""
    source = np.random.default_rng([seed, d_k])
    entries = source.standard_normal((draws, d_k)) + mean
    entries *= source.standard_normal((draws, d_k)) + mean
    return np.asarray(entries.sum(1))


def dice_draws(count: int, *, draws: int = DRAWS, seed: int = 0) -> np.ndarray:
    """Totals of so many dice, (draws,)."""
    return np.asarray(np.random.default_rng([seed, count, FACES]).integers(1, FACES + 1, (draws, count)).sum(1))


def dice_shares(count: int) -> np.ndarray:
    """The probability of each total of so many dice, from the smallest to the largest."""
    shares = np.ones(1)
    for _ in range(count):
        shares = np.convolve(shares, np.full(FACES, 1 / FACES))
    return shares


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


# --- shapes of many heads and of two sequences, taken from arrays that went through them ---


@dataclass(frozen=True)
class Sizes:
    """n tokens of d_model features; h attention heads with d_k = d_model / h and d_v; m tokens of another sequence."""

    tokens: int
    d_model: int
    heads: int
    d_v: int
    others: int

    @property
    def d_k(self) -> int:
        """Entries of one head's query or key."""
        return self.d_model // self.heads


def many_heads(sizes: Sizes) -> list[tuple[str, Shape]]:
    """The arrays in self-attention with h heads, in order, with shapes. ValueError if h does not divide d_model."""
    x = np.ones((sizes.tokens, sizes.d_model))
    w_q = np.ones((sizes.d_model, sizes.d_model))
    w_v = np.ones((sizes.d_model, sizes.heads * sizes.d_v))
    parts = heads(x, w_q, w_q, w_v, sizes.heads)
    joined, one = np.concatenate([head.output for head in parts], axis=1), parts[0]
    w_o = np.ones((joined.shape[1], sizes.d_model))
    return [
        ("X, the tokens", x.shape),
        ("W_Q and W_K, all heads", w_q.shape),
        ("W_V, all heads", w_v.shape),
        ("q and k of one head", one.q.shape),
        ("v of one head", one.v.shape),
        ("scores and weights of one head", one.weights.shape),
        ("output of one head", one.output.shape),
        ("heads side by side", joined.shape),
        ("W_O", w_o.shape),
        ("result, as X", (joined @ w_o).shape),
    ]


def two_sequences(sizes: Sizes) -> dict[str, dict[str, Shape | str]]:
    """One head of each attention in an encoder (m tokens) and decoder (n tokens): sources and shapes."""
    ends = {
        "encoder, self": (sizes.others, sizes.others, False),
        "decoder, self": (sizes.tokens, sizes.tokens, True),
        "decoder, cross": (sizes.tokens, sizes.others, False),
    }
    columns: dict[str, dict[str, Shape | str]] = {}
    for name, (n, m, causal) in ends.items():
        q, k, v = np.ones((n, sizes.d_k)), np.ones((m, sizes.d_k)), np.ones((m, sizes.d_v))
        head = attend(q, k, v, by=sizes.d_k**0.5, seen=visible(n, m, causal=causal))
        shapes = {"Q": q.shape, "K": k.shape, "V": v.shape, "weights": head.weights.shape, "output": head.output.shape}
        columns[name] = {
            "queries from": "encoder" if name.startswith("encoder") else "decoder",
            "keys and values from": "decoder" if name == "decoder, self" else "encoder",
            **shapes,
            "mask": "causal" if causal else "padding only",
        }
    return columns


# --- how a head learns: the loss is |o - y|²/2 of one token's output o (d_v,) and a target y ---


@dataclass(frozen=True)
class Learning:
    """An attention head, its loss, and the gradients backpropagated from the output of token `at`.

    `output` (d_v,), `weights` and `scores` (n,) of its row, `scores` before the division; `query` (d_k,), `keys` (n,
    d_k), `values` (n, d_v); `matrices` those of W_Q, W_K and W_V.
    """

    head: Head
    at: int
    loss: float
    output: np.ndarray
    weights: np.ndarray
    scores: np.ndarray
    query: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    matrices: Matrices


def learning(
    x: np.ndarray, matrices: Matrices, at: int, target: np.ndarray, *, by: float, seen: np.ndarray | None = None
) -> Learning:
    """The chain rule from the loss of token `at` to the three matrices (softmax: da_j/ds_k = a_j (1[j = k] - a_k))."""
    q, k, v = (x @ w for w in matrices)
    head = attend(q, k, v, by=by, seen=seen)
    share = head.weights[at]
    output = head.output[at] - target
    weights = v @ output
    scores = share * (weights - share @ weights) / by
    query, keys, values = scores @ k, np.outer(scores, q[at]), np.outer(share, output)
    of_matrices = np.outer(x[at], query), x.T @ keys, x.T @ values
    return Learning(head, at, float(output @ output) / 2, output, weights, scores, query, keys, values, of_matrices)


def descent(
    x: np.ndarray,
    matrices: Matrices,
    at: int,
    target: np.ndarray,
    *,
    by: float,
    seen: np.ndarray | None = None,
    lr: float,
    steps: int,
) -> Iterator[Learning]:
    """The head before each step of plain gradient descent and after the last; ends at a non-finite loss."""
    w_q, w_k, w_v = (w.astype(float) for w in matrices)
    for _ in range(steps + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            point = learning(x, (w_q, w_k, w_v), at, target, by=by, seen=seen)
        if not np.isfinite(point.loss):
            return
        yield point
        w_q, w_k, w_v = (w - lr * g for w, g in zip((w_q, w_k, w_v), point.matrices, strict=True))
