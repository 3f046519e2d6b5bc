"""Two layers of attention on a sentence whose "it" means one noun or the other, by its last word.

In layer 1 one head of "it" attends to the nouns, another to the adjective; what the second head writes into the stream
decides layer 2. Each head has its own W_Q, W_K and W_V. Without norms, every number can be followed by hand.
"""

from dataclasses import dataclass

import numpy as np

from models.labs.attention import Head, attend

SENTENCE_START = ("The", "animal", "did", "not", "cross", "the", "street", "because", "it", "was", "too")
LAST_WORDS = ("tired", "wide")
IT = SENTENCE_START.index("it")
FEATURES = ("noun", "alive", "pronoun", "adjective")
WORD_FEATURES = {
    "animal": (1, 1, 0, 0),
    "street": (1, -1, 0, 0),
    "it": (0, 0, 1, 0),
    "tired": (0, 1, 0, 1),
    "wide": (0, -1, 0, 1),
}
QUERY_SCALE = 8.0  # makes the softmax nearly one-hot


def _reading_matrix(*columns: dict[str, float]) -> np.ndarray:
    """Matrix (D, columns) from each column's coefficients by feature."""
    return np.array([[column.get(feature, 0.0) for column in columns] for feature in FEATURES])


NOUNS = _reading_matrix({"pronoun": QUERY_SCALE}), _reading_matrix({"noun": 1}), np.diag([1.0, 1, 0, 0])
ADJECTIVES = _reading_matrix({"pronoun": QUERY_SCALE}), _reading_matrix({"adjective": 1}), np.diag([0, 1.0, 0, 0])
# The adjective has the feature "alive" too, and "it" carries noun features after layer 1; the second entry of a key
# excludes both.
DECISION = (
    _reading_matrix({"alive": QUERY_SCALE}, {"pronoun": QUERY_SCALE}),
    _reading_matrix({"alive": 1}, {"noun": 1, "adjective": -1, "pronoun": -1}),
    np.diag([1.0, 1, 0, 0]),
)


@dataclass(frozen=True)
class LayersOfIt:
    """Both heads of layer 1, the stream (T, D) after it, and the head of layer 2."""

    nouns: Head
    adjectives: Head
    stream: np.ndarray
    decision: Head


def words(last: str) -> tuple[str, ...]:
    return (*SENTENCE_START, last)


def two_layers(last: str, *, second_head: bool = True) -> LayersOfIt:
    """Both layers; without `second_head`, the adjective head of layer 1 writes nothing."""
    x = np.array([WORD_FEATURES.get(word, (0, 0, 0, 0)) for word in words(last)], float)
    nouns, adjectives = (_head(x, matrices) for matrices in (NOUNS, ADJECTIVES))
    stream = x + nouns.output + (adjectives.output if second_head else 0.0)
    return LayersOfIt(nouns, adjectives, stream, _head(stream, DECISION))


def _head(x: np.ndarray, matrices: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Head:
    q, k, v = (x @ matrix for matrix in matrices)
    return attend(q, k, v, divisor=q.shape[1] ** 0.5)
