"""Tests the claim: Sandwich norm and post-norm are the same."""

import numpy as np

from tests.claims.kit import geometric, nets, rows_agree, signals, untrained, upheld_by


def growths(key: str) -> dict[str, float]:
    return {name: float(np.divide(*geometric(untrained(cfg)[0])[[-1, 0]])) for name, cfg in nets(key).items()}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree(
        "sandwich-is-post-norm", {"mean square, end over start": list(growths("sandwich-is-post-norm").values())}
    )


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("sandwich-is-post-norm", signals(mean_square=1.0))
