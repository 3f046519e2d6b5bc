"""The four ways to tell tokens where they stand behind one interface: what is added, scores by place, one head that uses it.

Legend: T positions, D features, K features of a query or key.
"""

from collections.abc import Callable

import numpy as np

from models.labs.attention import attend, visible
from models.labs.positions import BASE, rotary_scores, rotated, sinusoids

KINDS = {
    "sinusoidal": "sines and cosines of the place are added to the token",
    "learned": "a row of a table is added to the token; training moves it",
    "rotary": "nothing is added; queries and keys are turned by angles of the place",
    "none": "nothing is added and nothing is turned",
}
MEAN_SQUARE = 0.5  # of a learned row here, as that of sines and cosines


def added(kind: str, count: int, width: int, seed: int = 0) -> np.ndarray:
    """What is added to the tokens, (T, D); (0, D) where nothing is. A learned table is drawn at random: it is not trained."""
    if kind == "sinusoidal":
        return sinusoids(np.arange(count), width)
    if kind == "learned":
        return np.random.default_rng(seed).normal(0, MEAN_SQUARE**0.5, (count, width))
    return np.empty((0, width))


def scores(kind: str, count: int, width: int, *, seed: int = 0, projected: bool = False) -> np.ndarray:
    """How a place scores with a place, (T, T): rows of what is added, or one and the same query and key where nothing is.

    `projected`: after random W_Q and W_K of variance 1/D. Rotary turns what comes out of them, so it is the same with them.
    """
    source = np.random.default_rng([seed, 1])
    w_q, w_k = source.normal(0, width**-0.5, (2, width, width))
    q, k = source.standard_normal((2, width))
    if kind == "rotary":
        return rotary_scores(q, k, np.arange(count))
    if kind == "none":
        return np.full((count, count), q @ k)
    rows = added(kind, count, width, seed)
    return (rows @ w_q) @ (rows @ w_k).T if projected else rows @ rows.T


def turns(width: int, count: int) -> np.ndarray:
    """How many times each pair of features has gone round within so many positions, (D/2,)."""
    return count * BASE ** (-np.arange(0, width, 2) / width) / (2 * np.pi)


def one_head(kind: str, count: int, width: int, *, causal: bool, seed: int = 0) -> Callable[[np.ndarray], np.ndarray]:
    """A head with random weights, (T, D) -> (T, D), whose tokens are told where they stand in this way."""
    weights = np.random.default_rng([seed, 2]).normal(0, width**-0.5, (3, width, width))
    table, places, seen = added(kind, count, width, seed), np.arange(count), visible(count, count, causal=causal)

    def layer(x: np.ndarray) -> np.ndarray:
        q, k, v = ((x + table if len(table) else x) @ w for w in weights)
        if kind == "rotary":
            q, k = rotated(q, places), rotated(k, places)
        return attend(q, k, v, by=width**0.5, seen=seen).output

    return layer
