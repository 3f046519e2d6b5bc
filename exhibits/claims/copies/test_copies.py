"""Tests the claim on copies."""

from typing import Any

from torch import nn

from tests.claims.kit import Rows, put, rms, rows_agree, seeded, upheld_by


def layers_start_different() -> Rows:
    def layer() -> Any:
        return nn.TransformerEncoderLayer(32, 4, 128, dropout=0.0, batch_first=True, norm_first=True)

    seeded()
    layer()
    first, *others = [layer().linear1.weight for _ in range(6)]
    return {"difference": [0.0, min(rms(first - other) for other in others)]}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("copies", layers_start_different())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("copies", put("torch", apart=[0.1, 0.1]))
