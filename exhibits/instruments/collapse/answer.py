"""What a measurement of collapse answers. Legend: S sites of the stream, L blocks."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Collapse:
    """Similarity and rank of the stream's vectors, and concentration of attention; means over sets.

    A set is the tokens of one sample if there are several (`within`), else those of the batch. The numbers of attention
    are empty if it has nothing to choose from, and NaN for a block that was taken out.
    """

    within: bool
    sets: int
    vectors: int  # per set
    cosine: np.ndarray  # between different vectors, (S,)
    spread: np.ndarray  # |X - 1 mean^T| / |X|, (S,)
    rank: np.ndarray  # exp of the entropy of the singular values, (S,)
    participation: np.ndarray  # (sum s^2)^2 / sum s^4 of the singular values, (S,)
    entropy: np.ndarray  # of a row of attention, as a share of its maximum, (L,)
    sharpest: np.ndarray  # the same for the sharpest head, (L,)
    max_logit: np.ndarray  # (L,)
    query_key_share: np.ndarray  # share of queries and keys in the squared gradient of queries, keys and values, (L,)


COLLAPSE = Question("collapse", Collapse)
