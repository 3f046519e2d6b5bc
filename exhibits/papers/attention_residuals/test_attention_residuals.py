"""Tests the result: Attention over depth keeps what a block reads from growing, and does better than a sum."""

from dataclasses import replace

import numpy as np
import pytest

from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, ending, verdict


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("attention-residuals", PARTLY)


def of_depth(sizes: tuple[float, float], gradients: tuple[float, float], losses: tuple[float, float]) -> str:
    """The verdict on sizes and gradients that end so many times as large as they start, of a sum and of attention."""
    values = {}
    for name, size, gradient, loss in zip(PAPERS["attention-residuals"].sources, sizes, gradients, losses, strict=True):
        (one, *_) = ending(loss)
        act = np.tile(np.geomspace(1, size, one.act_rms.shape[1]), (len(one), 1))
        slope = np.tile(np.geomspace(1, gradient, one.weight_grad_rms.shape[1]), (len(one), 1))
        values[name] = [replace(one, act_rms=act, weight_grad_rms=slope)] * 10
    return verdict("attention-residuals", values)


def test_depth_attention_is_judged_by_sizes_gradients_losses() -> None:
    assert of_depth((4.0, 1.2), (4.0, 1.2), (2.4, 2.3)) == HOLDS
    assert of_depth((4.0, 0.1), (4.0, 1.2), (2.4, 2.3)) == PARTLY
    assert of_depth((4.0, 1.2), (1.2, 4.0), (2.4, 2.3)) == PARTLY
    assert of_depth((1.0, 4.0), (1.2, 4.0), (2.3, 2.4)) == NOT_HERE
