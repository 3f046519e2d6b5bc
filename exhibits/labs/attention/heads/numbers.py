"""What each head adds to the output of several."""

import numpy as np

from models.labs.attention import Head


def head_contributions(heads: list[Head], w_o: np.ndarray) -> np.ndarray:
    """Contribution of each head to the stream, (h, n, d): its output times its rows of W_O (h d_v, d)."""
    rows = np.split(w_o, len(heads))
    return np.array([head.output @ w for head, w in zip(heads, rows, strict=True)])
