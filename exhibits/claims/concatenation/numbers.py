"""Computes for the claim: Concatenating stream and branch keeps as much as adding them, at the same cost."""

from typing import Any

import numpy as np

FEATURES = 64
BLOCKS = 32


def joins() -> dict[str, Any]:
    """Effective rank of the stream's Jacobian over all blocks, and weights of the net, by what joins stream and branch.

    Branches read the stream at unit mean square: W2 relu(W1 x), fan-in. "add": x + F. "concatenate, then a matrix": a
    fan-in matrix brings (x, F) back to the width. "concatenate": the stream grows by the width in every block.
    """
    rank, weights = {}, {}
    for name in ("add", "concatenate, then a matrix", "concatenate"):
        rng = np.random.default_rng(59)
        x = rng.standard_normal(FEATURES)
        jacobian, count = np.eye(FEATURES), 0
        for _ in range(BLOCKS):
            w1 = rng.standard_normal((FEATURES, len(x))) / np.sqrt(len(x))
            w2 = rng.standard_normal((FEATURES, FEATURES)) / np.sqrt(FEATURES)
            size = np.sqrt((x**2).mean())
            hidden = w1 @ x / size
            # of x over its RMS: (I - x xᵀ / |x|²) / RMS
            normed = (jacobian - np.outer(x, x @ jacobian) / (x @ x)) / size
            branch, slope = w2 @ np.maximum(hidden, 0), w2 @ ((hidden > 0)[:, None] * (w1 @ normed))
            count += w1.size + w2.size
            if name == "add":
                x, jacobian = x + branch, jacobian + slope
                continue
            x, jacobian = np.concatenate([x, branch]), np.concatenate([jacobian, slope])
            if name != "concatenate":
                matrix = rng.standard_normal((FEATURES, len(x))) / np.sqrt(len(x))
                x, jacobian = matrix @ x, matrix @ jacobian
                count += matrix.size
        shares = np.linalg.svd(jacobian, compute_uv=False)
        shares = shares[shares > 0] / shares.sum()
        rank[name] = float(np.exp(-(shares * np.log(shares)).sum()))
        weights[name] = count
    return {"rank": rank, "weights": weights}
