"""Positional encodings: sines and cosines, rotation of queries and keys, biases; all of them behind one interface.

Legend: T positions, D features, K features of a query or key.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from models.labs.attention import attend, visible

BASE = 10_000.0
BUCKETS, FURTHEST = 32, 128  # of T5's bias
HEADS = 8  # as in the example of ALiBi's paper; the first, steepest one is shown
MEAN_SQUARE = 0.5  # of a random learned row, as of sines and cosines


def angles(places: np.ndarray, width: int) -> np.ndarray:
    """Position / 10000^(2i/D) in radians, (T, D/2): fast in the first pair of features, slow in the last."""
    return np.asarray(places, float)[:, None] * BASE ** (-np.arange(0, width, 2) / width)


def sinusoids(places: np.ndarray, width: int) -> np.ndarray:
    """Sine and cosine of each angle side by side, (T, D) (Vaswani 2017, 1706.03762)."""
    turned = angles(places, width)
    return np.stack((np.sin(turned), np.cos(turned)), axis=-1).reshape(len(turned), -1)[:, :width]


def rotated(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Feature pairs (i, i + K/2) of x (T, K) rotated by their positions' angles (Su 2021, 2104.09864). K is even."""
    turned = angles(places, x.shape[1])
    first, second = np.split(x, 2, axis=1)
    cos, sin = np.cos(turned), np.sin(turned)
    return np.concatenate((first * cos - second * sin, second * cos + first * sin), axis=1)


def rotary_scores(q: np.ndarray, k: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The score of one query (K,) and key (K,) at all pairs of positions, (T, T)."""
    count = len(places)
    return rotated(np.tile(q, (count, 1)), places) @ rotated(np.tile(k, (count, 1)), places).T


def alibi(places: np.ndarray, slope: float) -> np.ndarray:
    """What is added to every score, -slope |i - j|, (T, T) (Press 2021, 2108.12409)."""
    return -slope * np.abs(np.subtract.outer(places, places))


def slopes(heads: int) -> np.ndarray:
    """ALiBi's slope for each head, 2^(-8h/H), (H,)."""
    return np.asarray(2.0 ** (-8 * np.arange(1, heads + 1) / heads))


def bucket(ago: np.ndarray) -> np.ndarray:
    """T5's bucket for each distance i - j, negative for later tokens (Raffel 2019, 1910.10683): 16 per side, one each
    for distances up to 7, then ever wider ones, and one for all distances from FURTHEST on.
    """
    far, half, near = np.abs(ago), BUCKETS // 2, BUCKETS // 4
    share = np.log(np.maximum(far, 1) / near) / np.log(FURTHEST / near)
    wide = np.minimum(half - 1, near + np.floor(share * (half - near)).astype(int))
    return np.where(far < near, far, wide) + half * (np.asarray(ago) < 0)


@dataclass(frozen=True)
class ByDistance:
    """Dot products by the distance j - i of their positions: mean, minimum and maximum."""

    distance: np.ndarray
    mean: np.ndarray
    least: np.ndarray
    greatest: np.ndarray

    @property
    def spread(self) -> float:
        """The largest difference between pairs at the same distance: 0 if only distance matters."""
        return float((self.greatest - self.least).max())


def by_distance(dots: np.ndarray) -> ByDistance:
    """The diagonals of a table of dot products (T, T), from the distance -(T-1) to T-1."""
    count = len(dots)
    distance = np.arange(-(count - 1), count)
    lines = [np.diagonal(dots, at) for at in distance]
    columns = (np.array([pick(line) for line in lines]) for pick in (np.mean, np.min, np.max))
    return ByDistance(distance, *columns)


def nearest_rows(table: np.ndarray) -> tuple[float, int, int]:
    """The two closest rows of a table (T, D): their distance and both positions."""
    nearest = (np.inf, 0, 0)
    for first, row in enumerate(table[:-1]):  # all at once, 1,024 rows of 64 features would be half a gigabyte
        apart = np.linalg.norm(table[first + 1 :] - row, axis=1)
        second = int(apart.argmin())
        nearest = min(nearest, (float(apart[second]), first, first + 1 + second))
    return nearest


def order_difference(layer: Callable[[np.ndarray], np.ndarray], x: np.ndarray, order: np.ndarray) -> float:
    """Largest |layer(x[order]) - layer(x)[order]|: 0 if a layer knows nothing of positions."""
    return float(np.abs(layer(x[order]) - layer(x)[order]).max())


# --- by the name of an encoding ---


def added(kind: str, count: int, width: int, seed: int = 0) -> np.ndarray:
    """What is added to the tokens, (T, D), or (0, D) if nothing is. A learned table is random, as before training."""
    if kind == "sinusoidal":
        return sinusoids(np.arange(count), width)
    if kind == "learned":
        return np.random.default_rng(seed).normal(0, MEAN_SQUARE**0.5, (count, width))
    return np.empty((0, width))


def bias(kind: str, count: int, seed: int = 0) -> np.ndarray:
    """What is added to the scores of one head, (T, T), or (0, 0) if nothing is. T5's numbers are random."""
    places = np.arange(count)
    if kind == "alibi":
        return alibi(places, slopes(HEADS)[0])
    if kind == "relative bias":
        return np.random.default_rng([seed, 4]).normal(0, 1, BUCKETS)[bucket(np.subtract.outer(places, places))]
    return np.empty((0, 0))


def embedded(words: Sequence[str], width: int) -> np.ndarray:
    """A row for each word, (T, D): random, as before training, and the same wherever the word stands."""
    seeds = (crc32(word.casefold().encode()) for word in words)
    return np.array([np.random.default_rng(seed).normal(0, MEAN_SQUARE**0.5, width).round(1) for seed in seeds])


def differences(count: int) -> np.ndarray:
    """i - j for each position i of a query (row) and j of a key (column), (T, T)."""
    return np.subtract.outer(np.arange(count), np.arange(count))


def between(kind: str, count: int, width: int, seed: int = 0) -> np.ndarray:
    """What an encoding has for each pair of positions, (T, T).

    Dot products of the rows that are added; for rotary by how many degrees the first pair of features of the query is
    turned further than the key's; T5's buckets; ALiBi's penalties of the first head. (0, 0) if it has nothing.
    """
    ago = differences(count)
    match kind:
        case "rotary":
            return np.degrees(ago * angles(np.ones(1), width)[0, 0])
        case "relative bias":
            return bucket(ago)
        case "alibi":
            return bias(kind, count)
    rows = added(kind, count, width, seed)
    return rows @ rows.T if len(rows) else np.empty((0, 0))


def scores(kind: str, count: int, width: int, *, seed: int = 0, projected: bool = False) -> np.ndarray:
    """Scores between positions, (T, T): of the rows that are added, or else of one fixed query and key.

    A bias is added to the score of the query and key over √D, as in a head. `projected`: rows are multiplied by random
    W_Q and W_K of variance 1/D first; rotary acts after these, so it makes no difference there.
    """
    source = np.random.default_rng([seed, 1])
    w_q, w_k = source.normal(0, width**-0.5, (2, width, width))
    q, k = source.standard_normal((2, width))
    if kind == "rotary":
        return rotary_scores(q, k, np.arange(count))
    if kind == "none":
        return np.full((count, count), q @ k)
    added_to_scores = bias(kind, count, seed)
    if len(added_to_scores):
        return q @ k / width**0.5 + added_to_scores
    rows = added(kind, count, width, seed)
    return (rows @ w_q) @ (rows @ w_k).T if projected else rows @ rows.T


def turns(width: int, count: int) -> np.ndarray:
    """Full turns of each pair of features over this many positions, (D/2,)."""
    return count * BASE ** (-np.arange(0, width, 2) / width) / (2 * np.pi)


def one_head(kind: str, count: int, width: int, *, causal: bool, seed: int = 0) -> Callable[[np.ndarray], np.ndarray]:
    """An attention head with random weights and this positional encoding, (T, D) -> (T, D)."""
    weights = np.random.default_rng([seed, 2]).normal(0, width**-0.5, (3, width, width))
    table, places, seen = added(kind, count, width, seed), np.arange(count), visible(count, count, causal=causal)
    by_distance = bias(kind, count, seed)

    def layer(x: np.ndarray) -> np.ndarray:
        q, k, v = ((x + table if len(table) else x) @ w for w in weights)
        if kind == "rotary":
            q, k = rotated(q, places), rotated(k, places)
        return attend(q, k, v, by=width**0.5, seen=seen, plus=by_distance if len(by_distance) else 0.0).output

    return layer
