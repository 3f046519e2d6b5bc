"""Tests the claim: In post-norm a sublayer reads an un-normalised input."""

from tests.claims.kit import Rows, geometric, nets, rows_agree, signals, untrained, upheld_by


def reads_unnormalised_stream() -> Rows:
    inner = [geometric(untrained(cfg)[0])[1:-1] for cfg in nets("post-norm-reads-raw").values()]
    return {"least": [one.min() for one in inner], "most": [one.max() for one in inner]}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("post-norm-reads-raw", reads_unnormalised_stream())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("post-norm-reads-raw", signals(mean_square=1.5))
