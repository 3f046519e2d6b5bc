"""Tests the claim: Layer norm normalises over the batch, or over all tokens of a sequence at once."""

from tests.claims.kit import SEEN, Rows, put, rows_agree, seen, upheld_by


def over_the_batch() -> Rows:
    return dict(zip(("last token changed", "other sample changed"), seen(), strict=True))


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("over-the-batch", over_the_batch())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("over-the-batch", put("torch", norm=SEEN, future=[0.0, 0.0, 0.0], neighbour=[1.0, 1.0, 1.0]))
