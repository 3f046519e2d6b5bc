"""Sentences on collapse: how similar the stream's vectors are, and how concentrated attention is."""

import math

import numpy as np

from models.insight.verdict import directions
from models.insight.words import number, two_places
from models.trace import site_in_words

MIN_ATTENTION_ENTROPY = 0.1  # share of the maximum; a block below it attends to single tokens
MIN_QUERY_KEY_SHARE = 0.05  # of attention's gradient; below it queries and keys hardly learn


def collapse_sentence(sites: tuple[str, ...], vectors: str, max_rank: int, cosine: np.ndarray, rank: np.ndarray) -> str:
    """Mean cosine of some vectors at both ends of the stream, and how many of `max_rank` directions they use."""
    first, last = float(cosine[0]), float(cosine[-1])
    if not math.isfinite(last):
        return f"{vectors} have no cosine at the end: there are not two finite vectors with a direction."
    start = f"{two_places(first)} at {site_in_words(sites[0])} and " if math.isfinite(first) else ""
    end = f"{two_places(last)} at {site_in_words(sites[-1])}"
    used = f"they use {number(rank[-1], 2)} of at most {max_rank} directions there"
    return f"{vectors} have a mean cosine of {start}{end}: {directions(last)}; {used}."


def attention_sentence(entropy: np.ndarray, query_key_share: np.ndarray) -> str:
    """The block with the sharpest attention, and whether queries and keys still learn; both arguments are (depth,)."""
    if not np.isfinite(entropy).any():
        return "No block has attention whose numbers are finite."
    sharpest = int(np.nanargmin(entropy))  # not the largest logit: a softmax depends on differences only
    collapsed = "attention has" if entropy[sharpest] < MIN_ATTENTION_ENTROPY else "no block has"
    sentence = (
        f"Attention is sharpest in block {sharpest + 1}, with {entropy[sharpest]:.0%} of the largest entropy: "
        f"{collapsed} collapsed onto single tokens."
    )
    if not np.isfinite(query_key_share).any():
        return f"{sentence} Queries, keys and values have no gradient that can be compared."
    lowest = int(np.nanargmin(query_key_share))
    share = query_key_share[lowest]
    if share >= MIN_QUERY_KEY_SHARE:
        return sentence
    return f"{sentence} Queries and keys of block {lowest + 1} get only {share:.1%} of its gradient."
