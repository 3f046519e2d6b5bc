"""Tests the result: Wide random nets are ordered or chaotic; only between the two can a deep net be trained."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from exhibits.papers.order_and_chaos import numbers
from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from tests.papers.kit import comes_out, contradicted


def profiles(gap: float, **factors: float) -> Callable[[dict[str, Any]], None]:
    """Gradients that change by these factors a layer, from the first to the last, and a gap of correlations."""

    def change(values: dict[str, Any]) -> None:
        found = values["numbers"]
        rows = dict(zip(found["profiles"], factors.values(), strict=True))
        values["numbers"] = found | {
            "profiles": {one: np.tile(factor ** -np.arange(31.0), (3, 1)) for one, factor in rows.items()},
            "gaps": np.tile(gap ** np.arange(9.0), (3, 1)),
        }

    return change


def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("order-and-chaos", HOLDS)


def test_contrary_numbers_change_the_verdict() -> None:
    contradicted(
        "order-and-chaos",
        [
            (HOLDS, profiles(low=0.759, edge=1.0, high=1.342, gap=0.8665)),
            (PARTLY, profiles(low=0.759, edge=1.1, high=1.342, gap=0.8665)),
            (PARTLY, profiles(low=0.759, edge=1.0, high=1.342, gap=1 / 1.342)),
            (NOT_HERE, profiles(low=1.2, edge=1.3, high=0.9, gap=0.5)),
        ],
    )


def test_chi_is_that_of_another_quadrature_and_of_autograd_through_a_wide_tanh_net() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    for variance, expected in ((1.0, 0.759), (1.761, 1.0), (4.0, 1.342)):
        q = 1.0
        for _ in range(2000):
            q = variance * float((weights * np.tanh(np.sqrt(q) * nodes) ** 2).sum()) + 0.05
        by_hand = variance * float((weights * (1 - np.tanh(np.sqrt(q) * nodes) ** 2) ** 2).sum())
        assert numbers.chi(variance, 0.05) == pytest.approx(by_hand, rel=1e-3) == pytest.approx(expected, abs=1e-3)
    source = torch.Generator().manual_seed(5)
    x = (q**0.5 * torch.randn(1000, generator=source, dtype=torch.float64)).requires_grad_()
    h = x
    for _ in range(12):
        weight = torch.randn(1000, 1000, generator=source, dtype=torch.float64) * (4.0 / 1000) ** 0.5
        h = weight @ h.tanh() + 0.05**0.5 * torch.randn(1000, generator=source, dtype=torch.float64)
    g = torch.randn(1000, generator=source, dtype=torch.float64)
    h.backward(g)
    assert x.grad is not None
    factor = float((x.grad.square().mean() / g.square().mean()) ** (1 / 12))
    assert factor == pytest.approx(numbers.chi(4.0, 0.05), rel=0.05)
    assert numbers.chi(2.5, numbers.critical_bias_variance(2.5)) == pytest.approx(1, abs=1e-4)


def test_the_correlation_has_twice_the_depth_scale_of_the_gradient() -> None:
    """By drawing pairs: the fixed point of their correlation in chaos, and E phi' phi' there."""
    source = np.random.default_rng(8)
    one, other = source.standard_normal((2, 300_000))
    q = numbers.fixed_point(4.0, 0.05)
    c = 0.5
    for _ in range(60):
        first, second = np.sqrt(q) * one, np.sqrt(q) * (c * one + np.sqrt(1 - c * c) * other)
        c = (4.0 * float((np.tanh(first) * np.tanh(second)).mean()) + 0.05) / q
    kept = 4.0 * float(((1 - np.tanh(first) ** 2) * (1 - np.tanh(second) ** 2)).mean())
    fixed, slope = numbers.fixed_correlation(4.0, 0.05)
    assert (fixed, slope) == pytest.approx((c, kept), abs=1e-2)
    assert -1 / np.log(slope) == pytest.approx(6.98, abs=0.01)
    assert 1 / np.log(numbers.chi(4.0, 0.05)) == pytest.approx(3.40, abs=0.01)
    assert numbers.fixed_correlation(1.0, 0.05)[1] == pytest.approx(numbers.chi(1.0, 0.05), rel=1e-4)
