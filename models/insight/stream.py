"""What the growth of the stream and the shares of the branches say, in a sentence."""

import numpy as np

from models.insight.verdict import decades


def stream_sentence(sites: tuple[str, ...], stream_rms: np.ndarray, share: np.ndarray) -> str:
    """How much the stream grows, and which sublayer writes the most and the least next to what it reads. (S,), (M,)."""
    growth = decades(float(stream_rms[0]), float(stream_rms[-1]))
    grown = f"a factor of {10**growth:.3g}" if np.isfinite(growth) else "beyond all numbers"
    if not np.isfinite(share).any():
        return f"The stream changes by {grown} over depth; no branch can be compared with it."
    most, least = int(np.nanargmax(share)), int(np.nanargmin(share))
    return (
        f"The stream changes by {grown} over depth; the branch of {sites[most + 1]} adds {share[most]:.2g} times what it "
        f"reads, that of {sites[least + 1]} {share[least]:.2g} times."
    )
