"""Tests the claim: Post-norm has vanishing gradients."""

from tests.claims.kit import gradients, rows_agree, signals, upheld_by


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree(
        "post-norm-vanishes", {"gradient, start over end": list(gradients("post-norm-vanishes").values())}, rel=5e-3
    )


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("post-norm-vanishes", signals(grad_norm=2.0))
