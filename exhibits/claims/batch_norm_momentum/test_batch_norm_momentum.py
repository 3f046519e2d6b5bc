"""Tests the claim on batch norm momentum."""

import numpy as np
import torch

from tests.claims.kit import Rows, normed, put, rows_agree, seeded, upheld_by


def momentum() -> Rows:
    seeded()
    x = (3 + 2 * torch.randn(8, 4)).numpy().astype(float)
    mean, variance = 0.9 * 1 + 0.1 * x.mean(0), 0.9 + 0.1 * x.var(0, ddof=1)
    used = np.abs((x - mean) / np.sqrt(variance + 1e-5) - normed(x, 0)).max()
    pair = np.abs(normed(x[:2], 0)).mean()
    return {"found": ["0.9000", "yes", None, f"±{pair:.4f}", f"{used:.4g}"]}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("batch-norm-momentum", momentum())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("batch-norm-momentum", put("torch", old_weight=0.1, unbiased=0, refused="", eval=0.0))
