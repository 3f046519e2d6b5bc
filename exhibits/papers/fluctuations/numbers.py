"""How the length of a signal walks over the layers of random ReLU nets (Hanin 2018, 1803.01719). numpy, float64.

Legend: K seeds, L layers, N width. `depth` multiplies the numbers of layers.
"""

from functools import cache
from typing import Any

import numpy as np

from models.papers.numbers import FIRST_SEED, SEEDS

DRAWS = 40  # nets of each shape and seed
SHAPES = ((64, 8), (64, 16), (64, 32), (128, 16))  # width, layers
RESIDUAL_DECAY = 0.9  # the branch of layer l has this weight to the power of l, so that the mean length stays bounded


def length_variances(width: int, layers: int, seed: int, *, residual: bool) -> float:
    """Variance across layers of the log of the squared length of random ReLU nets with He's weights, mean over DRAWS.

    Around the mean net. The branch of layer l of a residual net has the weight RESIDUAL_DECAY^l (Hanin 2018,
    1803.01719).
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((DRAWS, width))
    logs = []
    for layer in range(1, layers + 1):
        weights = rng.standard_normal((DRAWS, width, width), np.float32) * np.float32(np.sqrt(2 / width))
        out = np.maximum(np.einsum("kij,kj->ki", weights, x), 0.0)
        x = x + RESIDUAL_DECAY**layer * out if residual else out
        logs.append(np.log((x**2).mean(1)))
    walks = np.stack(logs)  # (L, DRAWS)
    return float((walks - walks.mean(1, keepdims=True)).var(0).mean()) * DRAWS / (DRAWS - 1)


@cache
def fluctuations(depth: float = 1.0) -> dict[str, Any]:
    """Variances across layers (K,), by kind of net and shape."""
    shapes = [(width, round(depth * layers)) for width, layers in SHAPES]
    return {
        kind: {
            shape: np.array(
                [
                    length_variances(*shape, seed, residual=kind == "residual")
                    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS)
                ]
            )
            for shape in shapes
            if kind == "plain" or shape[0] == SHAPES[0][0]
        }
        for kind in ("plain", "residual")
    }
