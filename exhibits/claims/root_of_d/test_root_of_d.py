"""Tests the claim: Scores are divided by √d_model."""

import math

import numpy as np

from tests.claims.kit import Rows, put, rows_agree, upheld_by


def root_of_d() -> Rows:
    embedding = np.random.default_rng(22).standard_normal((512, 64)) / 8
    angle = np.arange(32)[:, None] / 10000 ** (np.arange(0, 64, 2) / 64)
    size = math.sqrt((embedding**2).mean())
    position = math.sqrt(((np.sin(angle) ** 2).mean() + (np.cos(angle) ** 2).mean()) / 2)
    return {"found": [16, 0.25, 1, size, 8 * size, position]}  # variances of 20,000 draws: within their own spread


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("root-of-d", root_of_d(), rel=0.03)


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("root-of-d", put("numbers", variance={"nothing": 64.0, "√d_model": 1.0, "√d_k": 4.0}))
