"""Computes for the claim: Layer norm stops one feature from dominating."""

from typing import Any

import numpy as np

from models.labs.normalization import normalise

OUTLIER_FACTORS = (1.0, 10.0, 1000.0)
FEATURES = 64


def outlier() -> dict[str, Any]:
    """Layer norm of a token of 64 features with one outlier: its value and its share of the sum of squares."""
    token = np.random.default_rng(30).standard_normal(FEATURES)
    token[0] = 1.0
    rows = [
        normalise((token * np.append(times, np.ones(FEATURES - 1)))[None], "layer norm").values[0]
        for times in OUTLIER_FACTORS
    ]
    return {
        "times": np.array(OUTLIER_FACTORS),
        "after": np.array([row[0] for row in rows]),
        "share": np.array([row[0] ** 2 / (row**2).sum() for row in rows]),
        "sum": np.array([(row**2).sum() for row in rows]),
        "bound": float(np.sqrt(FEATURES - 1)),
    }
