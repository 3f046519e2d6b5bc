"""How a head learns: the loss is |o - y|²/2 for one token's output o (d_v,) and a target y. numpy, float64."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from models.labs.attention import Head, Matrices, attend


@dataclass(frozen=True)
class HeadGradients:
    """An attention head, its loss, and the gradients backpropagated from the output of one token.

    `output` (d_v,); `weights` and `scores` (n,) of its row, the scores before division; `query` (d_k,);
    `keys` (n, d_k); `values` (n, d_v); `matrices`: gradients of W_Q, W_K and W_V.
    """

    head: Head
    token: int
    loss: float
    output: np.ndarray
    weights: np.ndarray
    scores: np.ndarray
    query: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    matrices: Matrices


def head_gradients(
    x: np.ndarray, matrices: Matrices, token: int, target: np.ndarray, *, divisor: float, mask: np.ndarray | None = None
) -> HeadGradients:
    """Backpropagates the loss of `token` to the three matrices (softmax: da_j/ds_k = a_j (1[j = k] - a_k))."""
    q, k, v = (x @ w for w in matrices)
    head = attend(q, k, v, divisor=divisor, mask=mask)
    attention_row = head.weights[token]
    output = head.output[token] - target
    weights = v @ output
    scores = attention_row * (weights - attention_row @ weights) / divisor
    query = scores @ k
    keys = np.outer(scores, q[token])
    values = np.outer(attention_row, output)
    return HeadGradients(
        head,
        token,
        loss=float(output @ output) / 2,
        output=output,
        weights=weights,
        scores=scores,
        query=query,
        keys=keys,
        values=values,
        matrices=(np.outer(x[token], query), x.T @ keys, x.T @ values),
    )


def descent(
    x: np.ndarray,
    matrices: Matrices,
    token: int,
    target: np.ndarray,
    *,
    divisor: float,
    mask: np.ndarray | None = None,
    lr: float,
    steps: int,
) -> Iterator[HeadGradients]:
    """Yields the head before each step of gradient descent and after the last; stops at a loss that is not finite."""
    w_q, w_k, w_v = (w.astype(float) for w in matrices)
    for _ in range(steps + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            point = head_gradients(x, (w_q, w_k, w_v), token, target, divisor=divisor, mask=mask)
        if not np.isfinite(point.loss):
            return
        yield point
        w_q, w_k, w_v = (w - lr * g for w, g in zip((w_q, w_k, w_v), point.matrices, strict=True))
