"""Tests the result: In deep plain nets gradients look like white noise; skips keep them alike."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from exhibits.papers.shattered import numbers
from models.papers.judging import NOT_HERE, PARTLY
from tests.papers.kit import comes_out, contradicted, gathered


def correlated(**of_depth: Callable[[np.ndarray], np.ndarray]) -> Callable[[dict[str, Any]], None]:
    def change(values: dict[str, Any]) -> None:
        found = values["numbers"]
        depths = np.array(found["layers"], float)
        rows = zip(found["correlation"], of_depth.values(), strict=True)
        values["numbers"] = found | {"correlation": {name: np.tile(of(depths), (3, 1)) for name, of in rows}}

    return change


def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("shattered", PARTLY)


def test_contrary_numbers_change_the_verdict() -> None:
    contradicted(
        "shattered",
        [
            (PARTLY, correlated(plain=lambda d: 0.5**d, residual=lambda d: 0.75**d, normed=lambda d: d**-0.5)),
            (PARTLY, correlated(plain=lambda d: 0.9**d, residual=lambda d: 0.95**d, normed=lambda d: d**-0.5)),
            (NOT_HERE, correlated(plain=lambda d: 0.7**d, residual=lambda d: 0.6**d, normed=lambda d: 0.5**d)),
        ],
    )


def test_the_correlation_of_gradients_is_that_of_the_arc_cosine_kernel() -> None:
    """Of two inputs at an angle, a share (π - angle) / 2π of the units is on for both."""
    found = dict(
        zip(numbers.SHATTERED_LAYERS, gathered("shattered")["numbers"]["correlation"]["residual"].mean(0), strict=True)
    )
    square, product, variance, covariance = 1.0, 0.0, 1.0, 1.0
    for layer in range(1, 5):
        angle = np.arccos(product / square)
        both = (np.pi - angle) / (2 * np.pi)
        product += square * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
        square, variance, covariance = 2 * square, 2 * variance, covariance * (1 + 2 * both)
        if layer in found:
            assert found[layer] == pytest.approx(covariance / variance, rel=0.05)
    # Ten draws scatter by 6 % at four layers, so more are drawn than the card has.
    plain = [[numbers.gradient_correlation("plain", layers, seed) for layers in (1, 2, 4)] for seed in range(200, 240)]
    assert np.mean(plain, axis=0) == pytest.approx([1 / 2, 1 / 4, 1 / 16], rel=0.1)


def test_with_batch_norm_the_correlation_tends_to_a_power_of_its_own() -> None:
    """-pi / 2(pi - 1), because batch norm removes ReLU's mean; -1/2 is what it would be if it did not."""
    depths = (10**5, 10**6)
    ends = [numbers.correlation_law("residual with batch norm", depth) for depth in depths]
    power = np.log(ends[1] / ends[0]) / np.log(10)
    assert power == pytest.approx(-np.pi / (2 * (np.pi - 1)), abs=1e-4)
    kept = [np.prod([(1 + 0.5 / v) / (1 + 1 / v) for v in range(1, depth + 1)]) for depth in (10**4, 10**5)]
    assert np.log10(kept[1] / kept[0]) == pytest.approx(-0.5, abs=1e-3)
    found = gathered("shattered")["numbers"]
    law, normed = (found[name]["residual with batch norm"] for name in ("law", "correlation"))
    assert normed.mean(0) == pytest.approx(law, rel=0.12)
