"""Tests the result: After a ReLU, weights need the variance 2/n; with Xavier's, thirty layers learn nothing."""

from typing import Any

import pytest

from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, ending, fed


def of_weights(he: float, xavier: float, *losses: float) -> str:
    values: dict[str, Any] = {"He, before training": fed(he), "Xavier, before training": fed(xavier)}
    values |= {
        name: ending(*[loss] * 10) for name, loss in zip(("He, trained", "Xavier, trained"), losses, strict=True)
    }
    return PAPERS["he-weights"].finding(values).answer


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("he-weights", HOLDS)


def test_weights_are_judged_by_their_factors_and_by_which_net_learns() -> None:
    assert of_weights(1.0, 0.5, 1.6, 2.3) == HOLDS
    assert of_weights(1.2, 0.5, 1.6, 2.3) == PARTLY
    assert of_weights(1.0, 0.5, 1.6, 1.6) == PARTLY
    assert of_weights(1.2, 1.0, 2.3, 1.6) == NOT_HERE
