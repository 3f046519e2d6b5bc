"""Computes for the claim: Without an activation more layers compute more."""

from typing import Any

import numpy as np

DEEP_LAYERS = 32


def one_matrix() -> dict[str, Any]:
    """Matrix product of 32 random linear blocks x + W2 W1 x of two features, and its error against the blocks."""
    rng = np.random.default_rng(36)
    x_ND = rng.standard_normal((100, 2))
    out_ND, product = x_ND, np.eye(2)
    for _ in range(DEEP_LAYERS):
        w1, w2 = rng.standard_normal((2, 2, 2)) / 2
        out_ND = out_ND + (out_ND @ w1) @ w2 / np.sqrt(DEEP_LAYERS)
        product = product @ (np.eye(2) + w1 @ w2 / np.sqrt(DEEP_LAYERS))
    return {"product": product, "apart": float(np.abs(out_ND - x_ND @ product).max()), "blocks": DEEP_LAYERS}
