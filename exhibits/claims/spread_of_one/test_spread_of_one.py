"""Tests the claim: Layer norm makes the standard deviation exactly 1."""

import math

import numpy as np

from tests.claims.kit import Rows, normed, put, rows_agree, upheld_by


def spread_of_one() -> Rows:
    biased = [s / math.sqrt(s**2 + 1e-5) for s in (1.0, 0.03, 0.003)]
    token = np.random.default_rng(2).standard_normal(64)
    return {
        "deviation after layer norm": [
            *biased,
            2 * token.std() / math.sqrt(token.var() + 1e-5),
            normed(token[:4]).std() * math.sqrt(4 / 3),
        ]
    }


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("spread-of-one", spread_of_one())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("spread-of-one", put("numbers", biased=np.ones(3), gain=1.0, unbiased=1.0))
