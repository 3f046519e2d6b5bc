"""The sentence on the growth of the stream and the shares of the branches."""

import numpy as np

from models.insight.words import change_in_words, decades, number
from models.trace import site_in_words


def stream_sentence(sites: tuple[str, ...], stream_rms: np.ndarray, share: np.ndarray) -> str:
    """How much the stream grows (S,), and which sublayers write the most and the least beside what they read (M,)."""
    grown = change_in_words("The stream", decades(float(stream_rms[0]), float(stream_rms[-1])), "over depth")
    if not np.isfinite(share).any():
        return f"{grown}; no branch can be compared with it."
    most, least = int(np.nanargmax(share)), int(np.nanargmin(share))
    return (
        f"{grown}; the branch of {site_in_words(sites[most + 1])} adds {number(share[most], 2)} times what it "
        f"reads, that of {site_in_words(sites[least + 1])} {number(share[least], 2)} times."
    )
