"""Tests the claim: mHC is only a regulariser of hyper-connections."""

from tests.claims.kit import signals, upheld_by


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("mhc-regularises", signals(mean_square=1.0, grad_norm=1.0))
