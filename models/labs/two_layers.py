"""Two layers of attention on a sentence whose "it" means one noun or the other, by its last word.

In the first layer one head of "it" looks for nouns and finds two, another for an adjective; what the second head writes
into the stream decides in the second layer. Each head has a W_Q, W_K and W_V; there are no norms, so that every number
can be followed.
"""

from dataclasses import dataclass

import numpy as np

from models.labs.attention import Head, attend

BEFORE = ("The", "animal", "did", "not", "cross", "the", "street", "because", "it", "was", "too")
LAST = ("tired", "wide")
IT = BEFORE.index("it")
FEATURES = ("noun", "alive", "pronoun", "adjective")
OWN = {
    "animal": (1, 1, 0, 0),
    "street": (1, -1, 0, 0),
    "it": (0, 0, 1, 0),
    "tired": (0, 1, 0, 1),
    "wide": (0, -1, 0, 1),
}
SHARP = 8.0  # of a query


def _reading(*columns: dict[str, float]) -> np.ndarray:
    """A matrix (D, entries) each of whose columns reads features, times numbers."""
    return np.array([[column.get(feature, 0.0) for column in columns] for feature in FEATURES])


NOUNS = _reading({"pronoun": SHARP}), _reading({"noun": 1}), np.diag([1.0, 1, 0, 0])
ADJECTIVES = _reading({"pronoun": SHARP}), _reading({"adjective": 1}), np.diag([0, 1.0, 0, 0])
# An adjective is alive or not itself, and "it" has heard of a noun: the second entry of a key keeps both from being
# taken for the noun.
DECIDES = (
    _reading({"alive": SHARP}, {"pronoun": SHARP}),
    _reading({"alive": 1}, {"noun": 1, "adjective": -1, "pronoun": -1}),
    np.diag([1.0, 1, 0, 0]),
)


@dataclass(frozen=True)
class LayersOfIt:
    """Both heads of the first layer, the head of the second, and the stream (T, D) between them."""

    nouns: Head
    adjectives: Head
    between: np.ndarray
    decides: Head


def words(last: str) -> tuple[str, ...]:
    """The sentence."""
    return (*BEFORE, last)


def two_layers(last: str, *, second_head: bool = True) -> LayersOfIt:
    """Both layers, with or without what the second head of the first layer writes."""
    x = np.array([OWN.get(word, (0, 0, 0, 0)) for word in words(last)], float)
    nouns, adjectives = (_head(x, matrices) for matrices in (NOUNS, ADJECTIVES))
    between = x + nouns.output + (adjectives.output if second_head else 0.0)
    return LayersOfIt(nouns, adjectives, between, _head(between, DECIDES))


def _head(x: np.ndarray, matrices: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Head:
    q, k, v = (x @ matrix for matrix in matrices)
    return attend(q, k, v, by=q.shape[1] ** 0.5)
