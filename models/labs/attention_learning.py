"""How one attention head learns: the gradients of W_Q, W_K and W_V written out, and gradient descent.

The loss is |o - y|²/2 of one token's output o (d_v,) and a target y. Legend as in `attention`: n tokens, d, d_k, d_v.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from models.labs.attention import Head, attend

Matrices = tuple[np.ndarray, np.ndarray, np.ndarray]  # W_Q (d, d_k), W_K (d, d_k), W_V (d, d_v)


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
            found = learning(x, (w_q, w_k, w_v), at, target, by=by, seen=seen)
        if not np.isfinite(found.loss):
            return
        yield found
        w_q, w_k, w_v = (w - lr * g for w, g in zip((w_q, w_k, w_v), found.matrices, strict=True))
