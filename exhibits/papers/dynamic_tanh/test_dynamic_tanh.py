"""Tests the result: A tanh with a learned slope can replace the norms of a transformer."""

import pytest

from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, ending, verdict


def of_norms(layer: float, tanh: float, none: float) -> str:
    losses = (layer, tanh, none, 1.0, 2.3)
    traces = [ending(*[one] * 10) for one in losses]
    return verdict("dynamic-tanh", dict(zip(PAPERS["dynamic-tanh"].sources, traces, strict=True)))


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("dynamic-tanh", PARTLY)


def test_dynamic_tanh_is_judged_by_the_losses_with_layer_norm_and_with_no_norm() -> None:
    assert of_norms(2.40, 2.44, 2.6) == HOLDS
    assert of_norms(2.40, 2.50, 2.6) == PARTLY
    assert of_norms(2.40, 2.42, 2.3) == PARTLY
    assert of_norms(2.40, 2.70, 2.6) == NOT_HERE
