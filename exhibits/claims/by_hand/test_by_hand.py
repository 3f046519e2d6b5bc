"""Tests the claim: `(x - x.mean()) / (x.std() + eps)` is layer norm."""

import math

from tests.claims.kit import Rows, put, rows_agree, upheld_by


def by_hand() -> Rows:
    return {"too short, measured": [1 - math.sqrt((d - 1) / d) for d in (4, 8, 64, 512)]} | {
        "1 - sqrt((d - 1) / d)": [1 - math.sqrt((d - 1) / d) for d in (4, 8, 64, 512)],
        "features": [4, 8, 64, 512],
    }


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("by-hand", by_hand(), rel=1e-2)


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("by-hand", put("torch", short=[0.0] * 4))
