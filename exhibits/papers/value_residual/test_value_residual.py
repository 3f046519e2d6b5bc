"""Tests the result: A residual for the values of attention learns the same from less data."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from models.papers.judging import HOLDS, NOT_HERE, PARTLY, steps_to_final_loss
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, learning, verdict


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("value-residual", PARTLY)


def of_values(plain: int, mixed: int, entropy: float) -> str:
    """The verdict on losses that fall after so many steps, and on how much more of its largest entropy the last block has."""
    values: dict[str, Any] = {}
    for name in PAPERS["value-residual"].sources:
        is_mixed = name.startswith("value")
        if ", attention" in name:
            values[name] = SimpleNamespace(entropy=np.array([0.5, 0.5 + entropy * is_mixed]))
        else:
            values[name] = learning(mixed if is_mixed else plain)
    return verdict("value-residual", values)


def test_values_are_judged_by_losses_steps_and_entropy() -> None:
    assert of_values(8, 3, 0.1) == HOLDS
    assert of_values(8, 3, -0.1) == PARTLY
    assert of_values(3, 8, -0.1) == NOT_HERE


def test_steps_are_counted_to_ten_low_losses() -> None:
    """By the same count for both nets: a lucky ten are lucky in either."""
    np.testing.assert_allclose(
        steps_to_final_loss(learning(3) + learning(8), learning(8) * 2), [12 / 17] * 10 + [1.0] * 10
    )
