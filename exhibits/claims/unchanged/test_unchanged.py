"""Tests the claim: The residual lets the gradient through unchanged, so it cannot vanish."""

from tests.claims.kit import gradients, outcome, rows_agree, signals, upheld_by


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("unchanged", {"gradient, start over end": list(gradients("unchanged").values())})


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("unchanged", signals(grad_norm=1.0))


def test_a_vanishing_gradient_is_among_the_nets() -> None:
    assert min(outcome("unchanged").table["gradient, start over end"]) < 0.1
