"""Tests the claim: Sigmoid gradients shrink by 1/4 per layer; ReLU's do not."""

from dataclasses import replace
from typing import Any

from tests.claims.kit import Rows, geometric, level, nets, per_block, rows_agree, untrained, upheld_by


def quarter() -> Rows:
    return {"factor per layer": [1 / per_block(geometric(untrained(cfg)[1])) for cfg in nets("quarter").values()]}


def as_claimed(values: dict[str, Any]) -> None:
    for name, one in values.items():
        rows = level(one.grad_norm, 4.0 if name.startswith("sigmoid") else 1.0)
        values[name] = replace(one, grad_norm=rows)


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("quarter", quarter())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("quarter", as_claimed)
