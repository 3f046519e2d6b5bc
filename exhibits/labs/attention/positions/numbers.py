"""What positional encodings do: how near their rows come, how often they turn, whether a head with one knows the order.

Legend: T positions, D features.
"""

from collections.abc import Callable

import numpy as np

from models.labs.attention import attend, attention_mask
from models.labs.positions import BASE, position_rows, rotate, score_bias


def nearest_rows(table: np.ndarray) -> tuple[float, int, int]:
    """Distance and positions of the two closest rows of a table (T, D)."""
    nearest = (np.inf, 0, 0)
    for index, row in enumerate(table[:-1]):  # row by row: all pairs of 1,024 rows would take half a gigabyte
        distances = np.linalg.norm(table[index + 1 :] - row, axis=1)
        offset = int(distances.argmin())
        nearest = min(nearest, (float(distances[offset]), index, index + 1 + offset))
    return nearest


def order_difference(layer: Callable[[np.ndarray], np.ndarray], x: np.ndarray, order: np.ndarray) -> float:
    """Largest |layer(x[order]) - layer(x)[order]|: 0 if the layer is permutation-equivariant."""
    return float(np.abs(layer(x[order]) - layer(x)[order]).max())


def full_turns(width: int, count: int) -> np.ndarray:
    """Full turns of each pair of features over `count` positions, (D/2,)."""
    return count * BASE ** (-np.arange(0, width, 2) / width) / (2 * np.pi)


def random_head(
    kind: str, count: int, width: int, *, causal: bool, seed: int = 0
) -> Callable[[np.ndarray], np.ndarray]:
    """An attention head with random weights and this positional encoding, as a function (T, D) -> (T, D)."""
    weights = np.random.default_rng([seed, 2]).normal(0, width**-0.5, (3, width, width))
    table = position_rows(kind, count, width, seed)
    positions = np.arange(count)
    mask = attention_mask(count, count, causal=causal)
    head_bias = score_bias(kind, count, seed)

    def layer(x: np.ndarray) -> np.ndarray:
        inputs = x + table if len(table) else x
        q, k, v = (inputs @ w for w in weights)
        if kind == "rotary":
            q, k = rotate(q, positions), rotate(k, positions)
        return attend(q, k, v, divisor=width**0.5, mask=mask, bias=head_bias if len(head_bias) else 0.0).output

    return layer
