"""The sentences on collapse: how alike the stream's vectors are, and where attention goes."""

import math

import numpy as np

from models.insight.verdict import directions
from models.insight.words import number, two_places
from models.trace import site_in_words

SHARP = 0.1  # entropy of attention, as a share of its maximum, below which a block looks at one token only
STARVED = 0.05  # share of attention's gradient below which queries and keys hardly learn


def collapse_sentence(sites: tuple[str, ...], whose: str, most: int, cosine: np.ndarray, rank: np.ndarray) -> str:
    """How alike the vectors of a set are at both ends of the stream, and how many of `most` directions they use."""
    first, last = float(cosine[0]), float(cosine[-1])
    if not math.isfinite(last):
        return f"{whose} have no cosine at the end: there are not two finite vectors with a direction."
    before = f"{two_places(first)} at {site_in_words(sites[0])} and " if math.isfinite(first) else ""
    used = f"they use {number(rank[-1], 2)} of at most {most} directions there"
    end = f"{two_places(last)} at {site_in_words(sites[-1])}"
    return f"{whose} have a mean cosine of {before}{end}: {directions(last)}; {used}."


def attention_sentence(entropy: np.ndarray, query_key_share: np.ndarray) -> str:
    """Which block has the sharpest attention, and whether queries and keys still learn, (depth,) each."""
    if not np.isfinite(entropy).any():
        return "No block has attention whose numbers are finite."
    at = int(np.nanargmin(entropy))  # not the largest logit: a softmax sees differences alone
    judged = (
        "attention has collapsed onto single tokens"
        if entropy[at] < SHARP
        else "no block has collapsed onto single tokens"
    )
    sharp = f"Attention is sharpest in block {at + 1}, with {entropy[at]:.0%} of the largest entropy: {judged}."
    if not np.isfinite(query_key_share).any():
        return f"{sharp} Queries, keys and values have no gradient that can be compared."
    least = int(np.nanargmin(query_key_share))
    if query_key_share[least] >= STARVED:
        return sharp
    return f"{sharp} Queries and keys of block {least + 1} get only {query_key_share[least]:.1%} of its gradient."
