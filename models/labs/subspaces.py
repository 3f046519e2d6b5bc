"""Layers that share a stream by directions: one writes, one reads along an angle to it, one deletes what was written.

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
    """What a layer hears along its direction of reading, what it writes along its own, and the stream after it (D,)."""

    layer: str
    heard: float
    wrote: float
    stream: np.ndarray


def start(size: float) -> np.ndarray:
    """A token (D,) of this length before the layers: all of the basis's directions in equal parts."""
    return np.asarray(size * BASIS.sum(0) / np.sqrt(FEATURES))


def read_direction(angle: float) -> np.ndarray:
    """The direction (D,) along which B reads, at this angle in degrees to the one that A writes along."""
    turn = np.deg2rad(angle)
    return np.asarray(np.cos(turn) * WRITTEN_BY_A + np.sin(turn) * ORTHOGONAL)


def layer_accesses(token: np.ndarray, *, amount: float, angle: float, share: float, order: str) -> list[Access]:
    """The stream through three layers of x + F(x).

    A reads nothing and writes `amount` along its direction. B reads at an `angle` to that, and writes what it hears
    along a direction of its own. C reads along A's direction and writes -`share` times what it reads. ValueError for an
    order that is not one of ORDERS.
    """
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}; legal is one of {', '.join(ORDERS)}")
    stream, steps = np.asarray(token, float), []
    own = {
        "A": (np.zeros(FEATURES), WRITTEN_BY_A),
        "B": (read_direction(angle), WRITTEN_BY_B),
        "C": (WRITTEN_BY_A, WRITTEN_BY_A),
    }
    for layer in ("A", "B", "C") if order == ORDERS[0] else ("A", "C", "B"):
        reads, writes = own[layer]
        heard = float(reads @ stream)
        size = {"A": amount, "B": heard, "C": -share * heard}[layer]
        stream = stream + size * writes
        steps.append(Access(layer, heard, size, stream))
    return steps
