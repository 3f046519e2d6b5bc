"""Tests the result: Batch norm makes the loss smoother; it does not help by steadying the inputs of layers."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from exhibits.papers.smoother.answer import Smoothness
from exhibits.papers.smoother.measure import gradient_change, noise_behind_norms
from models.nets.norms import TokenBatchNorm
from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.spec import RunConfig
from models.training import Run, SeedRuns, cross_entropy
from tests.papers.kit import PLAIN, comes_out, verdict


def of_landscape(change: float, bare: float, noise: float) -> str:
    """The verdict where batch norm has a change of 2 and a loss of 0.2."""
    each = {"batch norm": (2.0, 0.2), "no norm": (change, bare), "batch norm and noise": (2.0, noise)}
    return verdict(
        "smoother",
        {
            f"{name}, seed {seed}": Smoothness(np.arange(11), np.full(11, moved), np.full(40, loss))
            for name, (moved, loss) in each.items()
            for seed in range(10)
        },
    )


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("smoother", HOLDS)


def test_for_a_short_step_the_change_of_the_gradient_is_that_of_the_hessian() -> None:
    run = Run(replace(PLAIN, lr=1e-4, optimizer="sgd", batch=16), probe=False, frames=False)
    run.model.double()
    x, y = run.next_batch()
    run.next_batch = lambda: (x.double(), y)  # type: ignore[method-assign]
    parameters = list(run.model.parameters())
    g = torch.autograd.grad(cross_entropy(run.model(x.double()), y), parameters, create_graph=True)
    still = [part.detach() for part in g]
    hg = torch.autograd.grad(sum((a * b).sum() for a, b in zip(g, still, strict=True)), parameters)  # type: ignore[arg-type]
    length, curved = (float(torch.cat([p.flatten() for p in parts]).norm()) for parts in (still, hg))
    before = [p.detach().clone() for p in parameters]
    assert gradient_change(run) == pytest.approx(4 * 1e-4 * curved / length, rel=1e-2)
    assert all(torch.equal(a, b) for a, b in zip(before, parameters, strict=True))


def test_noise_moves_the_features_of_a_norm_at_every_pass_and_leaves_with_its_block() -> None:
    norm = TokenBatchNorm(400)
    model, x = nn.Sequential(norm), torch.randn(64, 400)
    quiet = model(x)
    with noise_behind_norms(model, 3):
        first, second = model(x), model(x)
    for out in (first, second):
        mean, factor = (out - quiet).detach().mean(0), out.detach().std(0) / quiet.detach().std(0)
        assert mean.abs().max() < 0.51
        assert float(mean.std()) == pytest.approx(1 / 12**0.5, rel=0.1), "uniform from -1/2 to 1/2"
        assert 0.999 < float(factor.min()) < 1.02
        assert 1.23 < float(factor.max()) < 1.251
    assert not torch.allclose(first, second)
    assert torch.equal(model(x), quiet)


@pytest.mark.full
def test_at_a_low_rate_a_shallow_net_trains_faster_without_batch_norm() -> None:
    for seed in range(3):
        cfg = RunConfig(residual=False, placement="mid-norm", layers_per_branch=1, depth=8, width=32, init="he",
            optimizer="sgd", lr=0.05, steps=300, seed=seed)  # fmt: skip
        losses = []
        for norm in ("none", "batch norm"):
            run = SeedRuns(replace(cfg, norm=norm), [seed])
            run.advance(300)
            losses.append(run.traces()[0].loss[280:300].mean())
        assert losses[0] < losses[1]


def test_smoothness_is_judged_by_the_gradients_change_and_by_the_losses() -> None:
    assert of_landscape(10.0, 1.3, 0.3) == HOLDS
    assert of_landscape(2.5, 1.3, 0.3) == PARTLY
    assert of_landscape(10.0, 1.3, 1.5) == PARTLY
    assert of_landscape(2.5, 0.1, 0.3) == NOT_HERE
    assert of_landscape(10.0, np.nan, 0.3) == HOLDS, "a net that diverges has learnt nothing"
