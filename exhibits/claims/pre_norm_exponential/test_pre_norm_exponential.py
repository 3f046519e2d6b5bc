"""Tests the claim: The variance of pre-norm grows exponentially."""

from addnorm.words import number
from models.insight.formula import geometric_mean
from tests.claims.kit import Rows, gathered, geometric, nets, outcome, rows_agree, signals, untrained, upheld_by


def exponential() -> Rows:
    squares = geometric(untrained(nets("pre-norm-exponential")["pre-norm"])[0])
    return {"blocks": [0, 32, 64], "mean square": squares[[0, 32, 64]]}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("pre-norm-exponential", exponential())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("pre-norm-exponential", signals(mean_square=1.5))


def test_what_an_exponential_law_would_give_is_the_first_halfs_factor_once_more() -> None:
    square = geometric_mean(gathered("pre-norm-exponential")["pre-norm"].mean_square)
    half = len(square) // 2
    assert f"to {number(square[0] * (square[half] / square[0]) ** 2)}." in outcome("pre-norm-exponential").sentence
