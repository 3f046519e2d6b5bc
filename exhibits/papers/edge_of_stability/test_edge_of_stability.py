"""Tests the result: Gradient descent drives the sharpness up to 2/rate, and keeps learning at this edge."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from exhibits.papers.edge_of_stability.answer import EdgeOfStability
from exhibits.papers.edge_of_stability.measure import SAMPLES, SHARPNESS_STEPS
from models.instruments import INSTRUMENTS
from models.instruments.samples import FullBatch
from models.nets import build_model
from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from models.tasks import open_task
from models.training import Replays, cross_entropy, result_of
from tests.papers.kit import PLAIN, comes_out, verdict


def largest(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """The largest eigenvalue of the whole Hessian."""
    names, values = zip(*model.named_parameters(), strict=True)
    sizes = [value.numel() for value in values]

    def loss(flat: torch.Tensor) -> torch.Tensor:
        parts = [part.view_as(value) for part, value in zip(flat.split(sizes), values, strict=True)]
        return cross_entropy(torch.func.functional_call(model, dict(zip(names, parts, strict=True)), (x,)), y)

    flat = torch.cat([value.detach().flatten() for value in values])
    return float(torch.linalg.eigvalsh(torch.func.hessian(loss)(flat))[-1])


def of_sharpness(start: float, plateau: float, *, rises: bool = True, end: float = 0.01) -> str:
    """The verdict on a sharpness in shares of 2/rate."""
    values = {}
    for name in PAPERS["edge-of-stability"].sources:
        rate = float(name.split(", ")[0].removeprefix("rate "))
        row = 2 / rate * np.array([start, *[plateau] * 8, 0.3])
        loss = np.geomspace(1, end, 100)
        loss[50:80:5] *= 2 if rises else 1
        values[name] = EdgeOfStability(np.arange(10) * 25, row, loss, rate)
    return verdict("edge-of-stability", values)


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("edge-of-stability", HOLDS)


def test_sharpness_under_full_batch_descent_is_the_largest_eigenvalue_along_a_loop_by_hand() -> None:
    cfg = replace(PLAIN, optimizer="sgd", lr=0.2)
    found = result_of(INSTRUMENTS["edge of stability"](Replays(), cfg, step=SHARPNESS_STEPS))
    assert found.steps.tolist() == [0, SHARPNESS_STEPS]
    x, y = FullBatch(open_task(cfg, torch.device("cpu")), SAMPLES).batch(0)
    model = build_model(cfg)
    descent = torch.optim.SGD(model.parameters(), lr=0.2)
    for step in range(SHARPNESS_STEPS + 1):
        loss = cross_entropy(model(x), y)
        if step in (0, SHARPNESS_STEPS):
            assert found.sharpness[step // SHARPNESS_STEPS] == pytest.approx(largest(model, x, y), rel=0.03)
        if step < SHARPNESS_STEPS:
            assert found.loss[step] == pytest.approx(loss.item(), rel=1e-4)
        descent.zero_grad()
        loss.backward()
        descent.step()


def test_the_edge_of_stability_is_judged_by_where_the_sharpness_hovers_and_by_the_loss() -> None:
    assert of_sharpness(0.2, 1.1) == HOLDS
    assert of_sharpness(0.2, 2.0) == PARTLY
    assert of_sharpness(0.2, 0.5) == PARTLY, "it never comes near"
    assert of_sharpness(0.9, 1.1) == PARTLY
    assert of_sharpness(0.2, 1.1, rises=False) == PARTLY
    assert of_sharpness(0.9, 2.0, rises=False, end=0.9) == NOT_HERE
