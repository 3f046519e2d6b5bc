"""Positional encodings by name: sinusoidal, learned, rotary, ALiBi, relative bias (T5). numpy, float64.

Legend: T positions, D features, K features of a query or key.
"""

from dataclasses import dataclass

import numpy as np

BASE = 10_000.0  # of the geometric series of wavelengths
T5_BUCKETS = 32
T5_MAX_DISTANCE = 128  # tokens
ALIBI_HEADS = 8  # as in the example of ALiBi's paper; only the first and steepest is used here
MEAN_SQUARE = 0.5  # of a learned row's entries at initialisation, equal to that of sines and cosines


def angles(positions: np.ndarray, width: int) -> np.ndarray:
    """Position / 10000^(2i/D) in radians, (T, D/2): fast in the first pair of features, slow in the last."""
    return np.asarray(positions, float)[:, None] * BASE ** (-np.arange(0, width, 2) / width)


def sinusoids(positions: np.ndarray, width: int) -> np.ndarray:
    """Sine and cosine of each angle side by side, (T, D) (Vaswani 2017, 1706.03762)."""
    theta = angles(positions, width)
    return np.stack((np.sin(theta), np.cos(theta)), axis=-1).reshape(len(theta), -1)[:, :width]


def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Feature pairs (i, i + K/2) of x (T, K) rotated by their positions' angles (Su 2021, 2104.09864). K is even."""
    theta = angles(positions, x.shape[1])
    first, second = np.split(x, 2, axis=1)
    cos, sin = np.cos(theta), np.sin(theta)
    return np.concatenate((first * cos - second * sin, second * cos + first * sin), axis=1)


def rotary_scores(q: np.ndarray, k: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Score of one query (K,) and key (K,) at all pairs of positions, (T, T)."""
    count = len(positions)
    return rotate(np.tile(q, (count, 1)), positions) @ rotate(np.tile(k, (count, 1)), positions).T


def alibi(positions: np.ndarray, slope: float) -> np.ndarray:
    """Bias -slope |i - j| of each score, (T, T) (Press 2021, 2108.12409)."""
    return -slope * np.abs(np.subtract.outer(positions, positions))


def alibi_slopes(heads: int) -> np.ndarray:
    """ALiBi's slope for each head, 2^(-8h/H), (H,)."""
    return np.asarray(2.0 ** (-8 * np.arange(1, heads + 1) / heads))


def t5_bucket(distances: np.ndarray) -> np.ndarray:
    """T5's bucket for each distance i - j, negative for later tokens (Raffel 2019, 1910.10683).

    16 per side: one each for distances up to 7, then logarithmically wider ones up to T5_MAX_DISTANCE.
    """
    per_side = T5_BUCKETS // 2
    exact = per_side // 2  # distances below it have buckets of their own
    tokens_apart = np.abs(distances)
    log_share = np.log(np.maximum(tokens_apart, 1) / exact) / np.log(T5_MAX_DISTANCE / exact)
    shared_bucket = np.minimum(per_side - 1, exact + np.floor(log_share * (per_side - exact)).astype(int))
    buckets = np.where(tokens_apart < exact, tokens_apart, shared_bucket)
    return buckets + per_side * (np.asarray(distances) < 0)


@dataclass(frozen=True)
class ByDistance:
    """Mean, minimum and maximum of dot products at each distance j - i."""

    distance: np.ndarray
    mean: np.ndarray
    minimum: np.ndarray
    maximum: np.ndarray

    @property
    def spread(self) -> float:
        """The largest difference between pairs at the same distance: 0 if only distance matters."""
        return float((self.maximum - self.minimum).max())


def by_distance(dots: np.ndarray) -> ByDistance:
    """Statistics of the diagonals of a table of dot products (T, T), from distance -(T-1) to T-1."""
    count = len(dots)
    distance = np.arange(-(count - 1), count)
    diagonals = [np.diagonal(dots, offset) for offset in distance]
    return ByDistance(
        distance,
        mean=np.array([np.mean(diagonal) for diagonal in diagonals]),
        minimum=np.array([np.min(diagonal) for diagonal in diagonals]),
        maximum=np.array([np.max(diagonal) for diagonal in diagonals]),
    )


# --- an encoding by its name ---


def position_rows(kind: str, count: int, width: int, seed: int = 0) -> np.ndarray:
    """Rows added to the tokens, (T, D), or (0, D) without any. A learned table is random, as before training."""
    if kind == "sinusoidal":
        return sinusoids(np.arange(count), width)
    if kind == "learned":
        return np.random.default_rng(seed).normal(0, MEAN_SQUARE**0.5, (count, width))
    return np.empty((0, width))


def score_bias(kind: str, count: int, seed: int = 0) -> np.ndarray:
    """Bias of one head's scores, (T, T), or (0, 0) without any. T5's biases are random, as before training."""
    positions = np.arange(count)
    if kind == "alibi":
        return alibi(positions, alibi_slopes(ALIBI_HEADS)[0])
    if kind == "relative bias":
        bucket_biases = np.random.default_rng([seed, 4]).normal(0, 1, T5_BUCKETS)
        return bucket_biases[t5_bucket(np.subtract.outer(positions, positions))]
    return np.empty((0, 0))


def scores(kind: str, count: int, width: int, *, seed: int = 0, projected: bool = False) -> np.ndarray:
    """Scores between positions, (T, T): of the added rows, or of one random query and key where no rows are added.

    A bias adds to the score of query and key over √D, as in a head. `projected`: random W_Q and W_K of variance 1/D
    multiply the rows first; rotary acts after these, so it ignores the flag.
    """
    rng = np.random.default_rng([seed, 1])
    w_q, w_k = rng.normal(0, width**-0.5, (2, width, width))
    q, k = rng.standard_normal((2, width))
    if kind == "rotary":
        return rotary_scores(q, k, np.arange(count))
    if kind == "none":
        return np.full((count, count), q @ k)
    head_bias = score_bias(kind, count, seed)
    if len(head_bias):
        return q @ k / width**0.5 + head_bias
    rows = position_rows(kind, count, width, seed)
    return (rows @ w_q) @ (rows @ w_k).T if projected else rows @ rows.T
