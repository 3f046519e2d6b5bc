"""Tests the claim: In X of shape (N, d_model), N is the batch size."""

import numpy as np

from tests.claims.kit import Rows, heads_of, put, rows_agree, upheld_by, weights_of


def rows_of_x() -> Rows:
    (x,), w = heads_of(np.random.default_rng(33), 1)
    other = x.copy()
    other[1] += 1
    moved = weights_of(other, w) @ other @ w[2] - weights_of(x, w) @ x @ w[2]
    return {"output 1 moves by": [np.abs(moved[0]).max(), 0.0]}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("n-is-the-batch", rows_of_x())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("n-is-the-batch", put("numbers", tokens=0.0))
