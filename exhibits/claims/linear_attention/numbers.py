"""Computes for the claim: Self-attention is linear."""

from typing import Any

import numpy as np

from models.labs.attention import attend, linearity_errors


def linear() -> dict[str, Any]:
    """Errors of A(x + y) = A(x) + A(y) if the attention weights are fixed or computed from the input; size of A(x)."""
    rng = np.random.default_rng(29)
    x, y = rng.standard_normal((2, 5, 8))
    w_q, w_k, w_v = (rng.standard_normal((8, 4)) / np.sqrt(8) for _ in range(3))
    fixed_error, input_error = linearity_errors(x, y, (w_q, w_k, w_v), 2.0)
    output = attend(x @ w_q, x @ w_k, x @ w_v, divisor=2.0).output
    return {"held": fixed_error, "own": input_error, "size": float(np.abs(output).max())}
