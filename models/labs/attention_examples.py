"""Worked examples of attention, some with slips that many tutorials copy. Right numbers are computed, never stored."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Projection:
    """Tokens (n, d) and the matrices of one head (d, d_k), (d, d_k), (d, d_v).

    `words`: the tokens' text. `features`: names of the tokens' columns. `query`: index of the token shown at the start.
    `direct_qkv`: the tokens are one-hot, so the matrices are Q, K and V themselves.
    """

    x: np.ndarray
    w_q: np.ndarray
    w_k: np.ndarray
    w_v: np.ndarray
    causal: bool = False
    scaled: bool = True
    words: tuple[str, ...] = ()
    query: int = 0
    features: tuple[str, ...] = ()
    direct_qkv: bool = False


@dataclass(frozen=True)
class AttentionRow:
    """One row of attention, the values (m, d_v) that it weights, and a tutorial's wrong results (`printed_`).

    `kind`: whether `numbers` are SCORES, to be divided by `divisor`, or WEIGHTS.
    """

    numbers: tuple[float, ...]
    kind: str
    values: tuple[tuple[float, ...], ...] = ()
    divisor: float = 1.0
    printed_weights: tuple[float, ...] = ()
    printed_output: tuple[float, ...] = ()
    printed_values: tuple[tuple[float, ...], ...] = ()
    words: tuple[str, ...] = ()
    printed_vectors: tuple[tuple[float, ...], ...] = ()  # the query, which is also the first key, then the other keys


SCORES = "scores"
WEIGHTS = "weights"

TOKENS = np.arange(1, 13).reshape(3, 4) / 10
MATRIX = np.arange(1, 17).reshape(4, 4) / 10
PRINTED_Q = (0.3, 0.7, 1.1, 1.5)
# The tutorial prints these vectors, and 3.74, 8.74, 13.74 as their dot products; those are 4.04, 8.44, 12.84.
PRINTED_KEYS = ((0.3, 0.7, 1.1, 1.5), (0.7, 1.5, 2.3, 3.1), (1.1, 2.3, 3.5, 4.7))
PRINTED_POSITION = (0.0001, 0.9999, 0.0002, 0.9998)  # of position 1 with four features


def _random_projection(tokens: int, d: int, d_k: int) -> Projection:
    """Gaussian tokens and matrices, to one decimal."""
    source = np.random.default_rng(3)
    x = source.standard_normal((tokens, d)).round(1)
    w_q, w_k, w_v = source.standard_normal((3, d, d_k)).round(1)
    return Projection(x, w_q, w_k, w_v)


# The queries of verbs and pronouns match the keys of nouns, those of small words the keys of verbs.
SENTENCE = Projection(
    np.array(
        [
            [0.1, 0, 0, 1],
            [1, 0.1, 0, 0],
            [0, 1, 0, 0],
            [0, 0.1, 0, 0.8],
            [0.2, 0, 1, 0],
            [0, 0.6, 0, 0.4],
            [0.1, 0.8, 0, 0],
        ]
    ),
    np.array([[1, 0, 0, 1], [5, 0, 0, 0], [8, 0, 0, 0], [2, 4, 0, 0.0]]),
    np.eye(4),
    np.eye(4),
    words=("The", "cat", "sat", "because", "it", "was", "tired"),
    query=4,
    features=("noun", "verb", "pronoun", "small word"),
)

MAT_VALUES = ((1, 0, 0), (0, 1, 0.5), (0, 0, 1), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5))
MAT = ("The", "cat", "sat", "on", "the", "mat")
MAT_KEYS = ((1, 0, 0), (1, 0.5, 0), (0, 0, 1), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5))
# The tutorial prints the query of "cat" and all keys and values; the other queries are ours.
ON_THE_MAT = Projection(
    np.eye(6),
    np.array([[0, 1, 0], [1, 0, 1], [1, 1, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0.0]]),
    np.array(MAT_KEYS, float),
    np.array(MAT_VALUES, float),
    scaled=False,
    words=MAT,
    query=1,
    direct_qkv=True,
)

PROJECTIONS: dict[str, Projection] = {
    "A sentence": SENTENCE,
    "Q, K and V given": ON_THE_MAT,
    "X times W": Projection(TOKENS, MATRIX, MATRIX, MATRIX),
    "The same with a causal mask": Projection(TOKENS, MATRIX, MATRIX, MATRIX, causal=True),
    "The same without scaling": Projection(TOKENS, MATRIX, MATRIX, MATRIX, scaled=False),
    "Five random tokens, d_k = 2": _random_projection(5, 4, 2),
    "The token is its query, key and value": Projection(np.eye(4).round(1), 2 * np.eye(4), 2 * np.eye(4), np.eye(4)),
}

_PROJECTED = tuple(tuple(row) for row in (TOKENS @ MATRIX).round(6).tolist())

ROWS: dict[str, AttentionRow] = {
    "Six scores": AttentionRow(
        (1, 1, 1, 0.5, 1, 0.5),
        SCORES,
        MAT_VALUES,
        printed_weights=(0.217, 0.217, 0.217, 0.132, 0.217, 0.132),
        printed_output=(0.391, 0.349, 0.499),
        words=MAT,
    ),
    "Three scores": AttentionRow(
        (3.74, 8.74, 13.74), SCORES, printed_weights=(0.02, 0.28, 0.70), printed_vectors=PRINTED_KEYS
    ),
    "The same over √4": AttentionRow((3.74, 8.74, 13.74), SCORES, divisor=2.0, printed_weights=(0.02, 0.28, 0.70)),
    "Token 1 as it is, over √4": AttentionRow(
        (4.46, 10.252, 16.044),
        SCORES,
        _PROJECTED,
        divisor=2.0,
        printed_weights=(0.02, 0.28, 0.70),
        printed_output=(1, 2, 3, 4),
        printed_values=PRINTED_KEYS,
    ),
    'Weights of "cat"': AttentionRow((0.1, 0.3, 0.4, 0.1, 0.05, 0.35, 0.1), WEIGHTS),
}
