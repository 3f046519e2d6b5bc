"""Computes for the claim: RMS norm is layer norm without the mean, so the result is the same."""

from typing import Any

import numpy as np

from models.labs.normalization import normalise
from models.labs.normalization_laws import TINY_EPS, jacobian

RANK_TOL = 1e-9  # a direction is lost below this share of the largest singular value


def rms_and_layer() -> dict[str, Any]:
    """Difference of layer norm and RMS norm on a token with and without mean, and directions that each discards."""
    token = np.random.default_rng(14).standard_normal(8) + 2.0
    cases = {"with its mean": token, "centred": token - token.mean()}
    apart, lost = {}, {}
    for name, x in cases.items():
        layer, rms = (normalise(x[None], method, eps=TINY_EPS).values for method in ("layer norm", "rms norm"))
        apart[name] = float(np.abs(layer - rms).max())
    for method in ("layer norm", "rms norm"):
        values = np.linalg.svd(jacobian(token, method, eps=0.0), compute_uv=False)
        lost[method] = int((values < RANK_TOL * values[0]).sum())
    return {"apart": apart, "lost": lost}
