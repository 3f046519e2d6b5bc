"""Computes for the claim: Scores are divided by √d_model."""

from typing import Any

import numpy as np

from models.labs.attention import score_statistics
from models.labs.positions import sinusoids

D_K = 16  # features of a query or key
D_MODEL = 64  # features of a token


def scores() -> dict[str, Any]:
    """Variance of random q·k with d_k = 16 in a model of width 64, by divisor; RMS of embedding and position.

    Embeddings have variance 1/d, as in a matrix shared with the output head.
    """
    values = {
        name: score_statistics(D_K, divisor=divisor)
        for name, divisor in (("nothing", 1.0), ("√d_model", D_MODEL**0.5), ("√d_k", D_K**0.5))
    }
    embedding = np.random.default_rng(22).standard_normal((512, D_MODEL)) / D_MODEL**0.5
    position = sinusoids(np.arange(32), D_MODEL)
    return {
        "variance": {name: statistics.variance for name, statistics in values.items()},
        "embedding": float(np.sqrt((embedding**2).mean())),
        "scaled": float(np.sqrt(D_MODEL * (embedding**2).mean())),
        "position": float(np.sqrt((position**2).mean())),
    }
