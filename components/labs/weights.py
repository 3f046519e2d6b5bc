"""The weights of an attention head: as a map, and as text."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from components.charts.parts import Figure
from components.charts.tokens import token_map
from models.labs.attention import Head


def weights_map(head: Head, title: str, names: Sequence[str], *, max_written: int, off: bool = False) -> Figure:
    """A map of a head's weights; its cells show them as numbers if there are at most `max_written` tokens.

    Masked cells are empty, and so are all cells of a head that is off.
    """
    texts = None
    if len(names) <= max_written:
        texts = np.where(head.mask, np.char.mod("%.2f", head.weights), "").tolist()
    hidden = np.ones_like(head.mask) if off else ~head.mask
    axes: dict[str, Any] = {"tokens": names, "rows": names, "y": "query token", "unit": "share"}
    return token_map(title=title, values=head.weights, hidden=hidden, texts=texts, **axes)


def weights_text(weights: np.ndarray) -> str:
    """Weights with up to five decimals, without trailing zeros: [0.00005, 0.0067, 0.99326]."""
    return "[" + ", ".join(f"{weight:.5f}".rstrip("0").rstrip(".") for weight in weights) + "]"
