"""Tests the result: Batch norm without skips makes gradients explode, whatever the weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from tests.experiments import value
from tests.papers.kit import comes_out, contradicted, outcome


def through_torch(make: Callable[[int], torch.nn.Module], layers: int, *, width: int = 256) -> tuple[float, float]:
    """The factor per layer of the mean square through layers of torch's own, forward and back, behind the first."""
    torch.manual_seed(11)
    first, *others = [make(width) for _ in range(layers)]
    x = first(torch.randn(256, width)).detach().requires_grad_()
    out = x
    for layer in others:
        out = layer(out)
    g = torch.randn_like(out)
    out.backward(g)
    assert x.grad is not None
    forward, back = out.square().mean() / x.square().mean(), x.grad.square().mean() / g.square().mean()
    return float(forward.detach() ** (1 / len(others))), float(back ** (1 / len(others)))


def normed(**factors: float) -> Callable[[dict[str, Any]], None]:
    def change(values: dict[str, Any]) -> None:
        rows = dict(zip(values["numbers"], factors.values(), strict=True))
        values["numbers"] = {name: np.tile(one ** -np.arange(13.0), (3, 1)) for name, one in rows.items()}

    return change


def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("batch-norm-explodes", HOLDS)


def test_contrary_numbers_change_the_verdict() -> None:
    contradicted(
        "batch-norm-explodes",
        [
            (PARTLY, normed(relu=1.2, linear=1.0, skip=1.1)),
            (PARTLY, normed(relu=1.6, linear=1.0, skip=1.1)),
            (PARTLY, normed(relu=1.467, linear=1.3, skip=1.1)),
            (NOT_HERE, normed(relu=0.9, linear=1.3, skip=1.3)),
        ],
    )


def test_torchs_own_batch_norm_makes_gradients_grow_by_pi_over_pi_minus_one() -> None:
    def layer(width: int) -> torch.nn.Module:
        linear = torch.nn.Linear(width, width, bias=False)
        return torch.nn.Sequential(linear, torch.nn.BatchNorm1d(width), torch.nn.ReLU())

    _, back = through_torch(layer, 12)
    assert back == pytest.approx(np.pi / (np.pi - 1), rel=0.03)
    assert outcome("batch-norm-explodes").table["factor per layer, mean"][0] == pytest.approx(back, rel=0.03)


@pytest.mark.full
def test_a_recorded_test_comes_out_again() -> None:
    card = PAPERS["batch-norm-explodes"]
    tests = card.finding({name: value(source) for name, source in card.sources_elsewhere().items()}).tests
    for mean, (recorded, *_) in zip(tests["mean"], card.tested["at another depth"], strict=True):
        assert mean == pytest.approx(recorded, rel=1e-3)
