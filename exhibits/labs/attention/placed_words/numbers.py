"""Embeddings of words, and what an encoding says of each pair of positions. Legend: T positions, D features."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from models.labs.positions import MEAN_SQUARE, angles, position_rows, score_bias, t5_bucket


def word_embeddings(words: Sequence[str], width: int) -> np.ndarray:
    """Random embedding of each word, (T, D), equal for equal words, as before training."""
    seeds = (crc32(word.casefold().encode()) for word in words)
    return np.array([np.random.default_rng(seed).normal(0, MEAN_SQUARE**0.5, width).round(1) for seed in seeds])


def relative_positions(count: int) -> np.ndarray:
    """i - j for each position i of a query (row) and j of a key (column), (T, T)."""
    return np.subtract.outer(np.arange(count), np.arange(count))


def pairwise_values(kind: str, count: int, width: int, seed: int = 0) -> np.ndarray:
    """Value of an encoding for each pair of positions, (T, T), or (0, 0) without any.

    Rotary: angle in degrees between query and key in the first pair of features. Relative bias: T5's bucket. ALiBi: the
    first head's bias. Otherwise: dot product of the added rows.
    """
    distances = relative_positions(count)
    match kind:
        case "rotary":
            return np.degrees(distances * angles(np.ones(1), width)[0, 0])
        case "relative bias":
            return t5_bucket(distances)
        case "alibi":
            return score_bias(kind, count)
    rows = position_rows(kind, count, width, seed)
    return rows @ rows.T if len(rows) else np.empty((0, 0))
