"""Tests the claim: The tensor with the longest gradient has the largest gradient."""

import torch
from torch import nn

from tests.claims.kit import Rows, put, rms, rows_agree, seeded, upheld_by


def gradient_norms() -> Rows:
    seeded()
    net = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 10))
    x, y = torch.randn(64, 64).double(), torch.randint(10, (64,))
    w1, b1, w2, b2 = (one.detach().double() for one in net.parameters())
    z = x @ w1.T + b1
    h = z * (z > 0)
    logits = h @ w2.T + b2
    error = (torch.softmax(logits, 1) - nn.functional.one_hot(y, 10)) / 64  # back-propagation written out
    below = error @ w2 * (z > 0)
    grads = [below.T @ x, below.sum(0), error.T @ h, error.sum(0)]
    return {
        "numbers": [one.numel() for one in grads],
        "length": [rms(one) * one.numel() ** 0.5 for one in grads],
        "RMS": [rms(one) for one in grads],
    }


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("gradient-norms", gradient_norms())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("gradient-norms", put("torch", length=[4.0, 3.0, 2.0, 1.0], rms=[4.0, 3.0, 2.0, 1.0]))
