"""The growth of the stream and the shares of its branches, as a sentence."""

import numpy as np

from models.insight.words import change_in_words, number
from models.trace import site_in_words


def stream_sentence(sites: tuple[str, ...], stream_rms: np.ndarray, share: np.ndarray) -> str:
    """How much the stream (S,) grows, and which sublayers have the largest and smallest branch over stream (M,)."""
    growth = change_in_words("The stream", stream_rms, "over depth")
    if not np.isfinite(share).any():
        return f"{growth}; no branch can be compared with it."
    largest, smallest = int(np.nanargmax(share)), int(np.nanargmin(share))
    return (
        f"{growth}; the branch of {site_in_words(sites[largest + 1])} adds {number(share[largest], 2)} times what it "
        f"reads, that of {site_in_words(sites[smallest + 1])} {number(share[smallest], 2)} times."
    )
