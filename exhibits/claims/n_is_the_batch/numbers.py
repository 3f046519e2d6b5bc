"""Computes for the claim: In X of shape (N, d_model), N is the batch size."""

from typing import Any

import numpy as np

from models.labs.attention import softmax


def rows() -> dict[str, Any]:
    """Change of output 1 when entry 2 of the first axis changes: in X (5, 8), and in a batch (2, 5, 8)."""
    rng = np.random.default_rng(33)
    x = rng.standard_normal((5, 8))
    w_q, w_k, w_v = (rng.standard_normal((8, 4)) / np.sqrt(8) for _ in range(3))

    def head(x: np.ndarray) -> np.ndarray:
        """Attention over the second-to-last axis of (T, D) or (B, T, D)."""
        return softmax((x @ w_q) @ np.swapaxes(x @ w_k, -1, -2) / 2.0) @ (x @ w_v)

    batch = np.stack([x, x[::-1]])
    changed_x = x.copy()
    changed_x[1] += 1.0
    changed_batch = batch.copy()
    changed_batch[1] += 1.0
    tokens = float(np.abs(head(changed_x)[0] - head(x)[0]).max())
    samples = float(np.abs(head(changed_batch)[0] - head(batch)[0]).max())
    return {"tokens": tokens, "samples": samples, "shape": x.shape, "batched": batch.shape}
