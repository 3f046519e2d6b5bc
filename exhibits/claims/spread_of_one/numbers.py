"""Computes for the claim: Layer norm makes the standard deviation exactly 1."""

from typing import Any

import numpy as np

from models.labs.normalization import normalise
from models.labs.normalization_laws import with_spread

INPUT_SPREADS = (1.0, 0.03, 3e-3)
FEATURES = 64


def spreads() -> dict[str, Any]:
    """Std of a token after layer norm, by its std before; also with a gain, and unbiased."""
    token = np.random.default_rng(2).standard_normal(FEATURES)
    outputs = [normalise(with_spread(token, spread)[None], "layer norm").values[0] for spread in INPUT_SPREADS]
    gained = normalise(token[None], "layer norm", gain=2.0, bias=1.0).values[0]
    small = normalise(token[None, :4], "layer norm").values[0]
    return {
        "given": np.array(INPUT_SPREADS),
        "biased": np.array([output.std() for output in outputs]),
        "gain": float(gained.std()),
        "unbiased": float(small.std(ddof=1)),
    }
