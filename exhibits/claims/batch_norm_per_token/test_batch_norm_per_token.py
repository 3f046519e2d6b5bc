"""Tests the claim: Batch norm normalises each token."""

from tests.claims.kit import SEEN, Rows, put, rows_agree, seen, upheld_by


def per_token() -> Rows:
    return dict(zip(("last token changed", "other sequence changed"), seen(), strict=True))


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("batch-norm-per-token", per_token())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("batch-norm-per-token", put("torch", norm=SEEN, future=[0.0] * 3, neighbour=[0.0] * 3))
