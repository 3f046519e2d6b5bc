"""Tests the claim: Self-attention is linear."""

import numpy as np

from tests.claims.kit import Rows, heads_of, put, rows_agree, upheld_by, weights_of


def linear() -> Rows:
    (x, y), w = heads_of(np.random.default_rng(29), 2)
    own = [weights_of(one, w) @ one @ w[2] for one in (x, y, x + y)]
    return {"largest difference": [0.0, np.abs(own[2] - own[0] - own[1]).max()]}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("linear-attention", linear())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("linear-attention", put("numbers", own=0.0))
