"""Tests the claim: Layer norm stops one feature from dominating."""

import numpy as np

from tests.claims.kit import Rows, normed, put, rows_agree, upheld_by


def one_feature() -> Rows:
    token = np.random.default_rng(30).standard_normal(64)
    rows = []
    for times in (1.0, 10.0, 1000.0):
        x = token.copy()
        x[0] = times
        rows.append(normed(x))
    return {
        "times larger": [1, 10, 1000],
        "that feature after layer norm": [row[0] for row in rows],
        "its share of the squares": [row[0] ** 2 / (row**2).sum() for row in rows],
    }


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("one-feature", one_feature())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("one-feature", put("numbers", share=np.array([0.1, 0.1, 0.1])))
