"""Layers that communicate through directions of the stream: one writes, one reads, one deletes. numpy, float64.

Legend: D features of the stream.
"""

from dataclasses import dataclass

import numpy as np

FEATURES = 6
BASIS = np.linalg.qr(np.random.default_rng(1).normal(size=(FEATURES, FEATURES)))[0].T  # orthonormal rows
WRITTEN_BY_A, ORTHOGONAL, WRITTEN_BY_B = BASIS[:3]
ORDERS = ("A writes, B reads, C deletes", "A writes, C deletes, B reads")


@dataclass(frozen=True)
class Access:
    """Sizes that a layer reads and writes along its two directions, and the stream after it (D,)."""

    layer: str
    read_size: float
    written_size: float
    stream: np.ndarray


def start(size: float) -> np.ndarray:
    """Initial stream (D,) of norm `size`, with equal parts along all directions of the basis."""
    return np.asarray(size * BASIS.sum(0) / np.sqrt(FEATURES))


def read_direction(angle: float) -> np.ndarray:
    """Direction (D,) along which B reads, at `angle` degrees to A's direction."""
    turn = np.deg2rad(angle)
    return np.asarray(np.cos(turn) * WRITTEN_BY_A + np.sin(turn) * ORTHOGONAL)


def layer_accesses(token: np.ndarray, *, amount: float, angle: float, share: float, order: str) -> list[Access]:
    """The stream through three layers of x + F(x).

    A writes `amount` along its direction. B reads at `angle` degrees to it and copies what it reads to a third
    direction. C reads along A's direction and subtracts `share` of it. ValueError for an order not in ORDERS.
    """
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}; legal is one of {', '.join(ORDERS)}")
    stream, accesses = np.asarray(token, float), []
    directions = {
        "A": (np.zeros(FEATURES), WRITTEN_BY_A),
        "B": (read_direction(angle), WRITTEN_BY_B),
        "C": (WRITTEN_BY_A, WRITTEN_BY_A),
    }
    for layer in ("A", "B", "C") if order == ORDERS[0] else ("A", "C", "B"):
        reads, writes = directions[layer]
        read_size = float(reads @ stream)
        size = {"A": amount, "B": read_size, "C": -share * read_size}[layer]
        stream = stream + size * writes
        accesses.append(Access(layer, read_size, size, stream))
    return accesses
