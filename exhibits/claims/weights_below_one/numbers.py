"""Computes for the claim: Weights below 1 make gradients vanish."""

from typing import Any

import numpy as np

FEATURES = 64
DEEP_LAYERS = 32


def small_weights() -> dict[str, Any]:
    """Median and largest absolute value of the weights of 32 layers of width 256, drawn from N(0, 2/64)."""
    rng = np.random.default_rng(34)
    sizes = np.abs(rng.standard_normal(DEEP_LAYERS * 256**2)) * np.sqrt(2 / FEATURES)
    return {"median": float(np.median(sizes)), "largest": float(sizes.max()), "count": len(sizes)}
