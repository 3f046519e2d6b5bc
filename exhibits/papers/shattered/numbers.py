"""Correlation of the gradients of random nets before training (Balduzzi 2017, 1702.08591). numpy, float64.

Legend: K seeds, L layers. `depth` multiplies the numbers of layers.
"""

from functools import cache
from typing import Any

import numpy as np

from models.papers.numbers import FIRST_SEED, SEEDS, batch_norm

# Nets of the correlation between gradients.
SHATTERED_SAMPLES = 64
SHATTERED_WIDTH = 256
SHATTERED_LAYERS = (1, 2, 4, 8, 16, 32)


def gradient_correlation(kind: str, layers: int, seed: int) -> float:
    """Mean cosine between the input gradients of different samples; batch norm's statistics count as constants.

    `kind`: "plain" (batch norm, ReLU), "residual" (x + W relu(x)) or "residual with batch norm" (x + W relu(BN x)).
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((SHATTERED_SAMPLES, SHATTERED_WIDTH))
    layer_states = []
    for _ in range(layers):
        weights = rng.standard_normal((SHATTERED_WIDTH, SHATTERED_WIDTH)) * np.sqrt(2 / SHATTERED_WIDTH)
        h, spread = batch_norm(x @ weights if kind == "plain" else x)
        if kind == "residual":
            h, spread = x, np.ones(SHATTERED_WIDTH)
        out = np.maximum(h, 0.0)
        x = out if kind == "plain" else x + out @ weights
        layer_states.append((weights, h > 0, spread))
    g = np.tile(rng.standard_normal(SHATTERED_WIDTH), (SHATTERED_SAMPLES, 1))
    for weights, active, spread in reversed(layer_states):
        g = (g * active / spread) @ weights.T if kind == "plain" else g + (g @ weights.T) * active / spread
    directions = g / np.linalg.norm(g, axis=1, keepdims=True)
    cosines = directions @ directions.T
    pairs = SHATTERED_SAMPLES * (SHATTERED_SAMPLES - 1)
    return float((cosines.sum() - SHATTERED_SAMPLES) / pairs)


def correlation_law(kind: str, layers: int) -> float:
    """The correlation of `gradient_correlation` in a wide net and a large batch.

    Each factor is what the layer does to the gradients' covariance over what it does to their variance. In plain nets a
    quarter of the units is on for both samples, and half for one. Batch norm removes the mean of a branch's ReLU, so
    the variance V that it divides by grows by 1 - 1/pi a layer, and the factor is (1 + 1/2V) / (1 + 1/V); for many
    layers the correlation falls as L^(-pi / 2(pi - 1)). Without it samples get alike, by the arc-cosine kernel.
    """
    if kind == "plain":
        return 0.5**layers
    if kind == "residual with batch norm":
        variance = 1 + (1 - 1 / np.pi) * np.arange(layers)
        return float(np.prod((1 + 0.5 / variance) / (1 + 1 / variance)))
    square, product, correlation = 1.0, 0.0, 1.0
    for _ in range(layers):
        angle = np.arccos(product / square)
        correlation *= (1 + (np.pi - angle) / np.pi) / 2
        product += square * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
        square *= 2
    return float(correlation)


@cache
def shattered(depth: float = 1.0) -> dict[str, Any]:
    """Correlation of input gradients by kind of net, (K, depths), its law, and the depths (Balduzzi, 1702.08591)."""
    layers = tuple(round(depth * count) for count in SHATTERED_LAYERS)
    kinds = ("plain", "residual", "residual with batch norm")
    correlations = {
        kind: np.array(
            [
                [gradient_correlation(kind, count, seed) for count in layers]
                for seed in range(FIRST_SEED, FIRST_SEED + SEEDS)
            ]
        )
        for kind in kinds
    }
    law = {kind: np.array([correlation_law(kind, count) for count in layers]) for kind in kinds}
    return {"layers": layers, "correlation": correlations, "law": law}
