"""Gradients of random nets with batch norm before training (Yang 2019, 1902.08129). numpy, float64.

Legend: K seeds, L layers, N width, B samples. `depth` multiplies the numbers of layers.
"""

from functools import cache
from typing import Any

import numpy as np

from models.papers.numbers import FIRST_SEED, SEEDS, batch_norm

# Nets with batch norm.
BATCH = 256
NORMED_WIDTH = 300
NORMED_LAYERS = 12


def batch_norm_gradients(seed: int, activation: str, depth: int, *, skip: bool) -> np.ndarray:
    """Mean square of the gradient at every layer of a random net with batch norm, from the input on, (L + 1,)."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((BATCH, NORMED_WIDTH))
    layers = []
    for _ in range(depth):
        weights = rng.standard_normal((NORMED_WIDTH, NORMED_WIDTH)) / np.sqrt(NORMED_WIDTH)
        h, spread = batch_norm(x @ weights)
        active = h > 0 if activation == "relu" else np.ones_like(h)
        x = (x if skip else 0.0) + h * active
        layers.append((weights, h, spread, active))
    g = rng.standard_normal((BATCH, NORMED_WIDTH))
    squares = [float((g**2).mean())]
    for weights, h, spread, active in reversed(layers):
        h_grad = g * active
        centred_grad = (h_grad - h_grad.mean(0) - h * (h_grad * h).mean(0)) / spread
        g = (g if skip else 0.0) + centred_grad @ weights.T
        squares.append(float((g**2).mean()))
    return np.array(squares[::-1])


@cache
def batch_norm_explodes(depth: float = 1.0) -> dict[str, Any]:
    """Gradient profiles (K, L + 1) of nets with batch norm: ReLU, linear, and ReLU with a skip (1902.08129)."""
    nets = {
        "ReLU": ("relu", False),
        "linear": ("linear", False),
        "ReLU with a skip": ("relu", True),
    }  # activation, skip
    return {
        name: np.stack(
            [
                batch_norm_gradients(seed, activation, round(depth * NORMED_LAYERS), skip=skip)
                for seed in range(FIRST_SEED, FIRST_SEED + SEEDS)
            ]
        )
        for name, (activation, skip) in nets.items()
    }
