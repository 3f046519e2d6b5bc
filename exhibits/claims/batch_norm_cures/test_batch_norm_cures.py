"""Tests the claim: Batch norm fixes vanishing and exploding gradients."""

from tests.claims.kit import gradients, rows_agree, signals, upheld_by


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("batch-norm-cures", {"gradient, start over end": list(gradients("batch-norm-cures").values())}, rel=1e-2)


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("batch-norm-cures", signals(grad_norm=1.0))
