"""Positional encodings behind one interface: what is added, scores by position, and a head that uses it.

Legend: T positions, D features, K features of a query or key.
"""

from collections.abc import Callable

import numpy as np

from models.labs.attention import attend, visible
from models.labs.positions import BASE, BUCKETS, alibi, bucket, rotary_scores, rotated, sinusoids, slopes

HEADS = 8  # as in the example of ALiBi's paper; the first, steepest one is shown
MEAN_SQUARE = 0.5  # of a random learned row, as of sines and cosines


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
