"""Internal covariate shift: nets trained again by a loop of the test's own, with norms and momentum by hand."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from exhibits.labs.normalization.shift.page import shift_sentence
from models.answers import CovariateShift
from models.instruments.covariate import SHIFTED, covariate_shift, draw_shift
from models.nets import build_model
from models.spec import RunConfig
from models.tasks import open_task
from models.training import Replays, result_of
from tests import hand

CFG = RunConfig(depth=3, width=16, batch=32, steps=24, residual=False, init="xavier", lr=0.05, device="cpu")
SIZE = 0.7


@pytest.fixture(scope="module")
def found():
    return result_of(covariate_shift(Replays(), CFG, block=2, shift=SIZE))


def forward(net, cfg, x, size, *, step, block):
    """Logits, and what the branch of a block reads, of a plain net with its norms before the branches."""
    x, read = net.position(net.embed(x)), None
    for at, sublayer in enumerate(net.stream.sublayers):
        x = hand.NORMS[cfg.norm](x, sublayer.norm_in, cfg.eps)
        if size:
            push, stretch = draw_shift(cfg, step, at, size)
            x = x * stretch + push
        read = x if at == block - 1 else read
        x = sublayer.function(x)
    return net.head(hand.NORMS[cfg.norm](x, net.final_norm, cfg.eps)), read


@cache
def by_own_loop(cfg, norm, size, block, looks):
    """Means and spreads (F, D) of what the block reads at the steps `looks`, and the losses (T,)."""
    cfg = replace(cfg, norm=norm, placement="pre-norm")
    net, task = build_model(cfg), open_task(cfg, "cpu")
    speed = [torch.zeros_like(p) for p in net.parameters()]
    means, spreads, losses = [], [], []
    for step in range(cfg.steps + 1):
        if step in looks:
            with torch.no_grad():
                _, read = forward(net, cfg, task.held_out[0][:256], size, step=step, block=block)
            means.append(read.flatten(0, -2).double().numpy().mean(0))
            spreads.append(read.flatten(0, -2).double().numpy().std(0))
        if step == cfg.steps:
            break
        x, y = task.batch(step)
        logits, _ = forward(net, cfg, x, size, step=step, block=block)
        loss = -logits.log_softmax(-1).flatten(0, -2)[range(y.numel()), y.flatten()].mean()
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, list(net.parameters()), allow_unused=True)
        with torch.no_grad():
            for p, v, gradient in zip(net.parameters(), speed, gradients, strict=True):
                if gradient is not None:
                    v.mul_(0.9).add_(gradient)
                    p.sub_(cfg.lr * v)
    return np.array(means), np.array(spreads), np.array(losses)


@pytest.mark.parametrize(
    ("at", "norm", "size"), [(0, "none", 0), (1, "layer norm", 0), (2, "batch norm", 0), (3, "batch norm", SIZE)]
)
def test_what_a_block_reads_over_training_is_that_of_a_loop_by_hand(found, at, norm, size):
    means, spreads, losses = by_own_loop(CFG, norm, size, 2, tuple(found.steps.tolist()))
    np.testing.assert_allclose(found.mean[at], means, atol=1e-2)
    np.testing.assert_allclose(found.spread[at], spreads, rtol=2e-2, atol=1e-2)
    np.testing.assert_allclose(found.loss[at], losses, rtol=1e-2, atol=2e-3)
    assert found.nets[at] == (SHIFTED if size else norm)


def test_batch_norm_removes_the_shift_of_means_and_injection_puts_it_back(found):
    none, layer, batch, shifted = np.median(found.moves, axis=1)
    assert batch < 0.1 * min(none, layer)
    # Two numbers draw_shift evenly from -s to s differ by s √(2/3) (RMS).
    assert shifted == pytest.approx(SIZE * np.sqrt(2 / 3), rel=0.25)


@pytest.mark.parametrize("asked", [{"block": 4}, {"block": 0}, {"block": 1, "shift": 1e300}, {"block": 1, "shift": -1}])
def test_a_block_or_a_shift_out_of_bounds_is_refused(asked):
    with pytest.raises(ValueError, match="legal is"):
        result_of(covariate_shift(Replays(), CFG, **asked))


def test_the_sentence_follows_the_numbers():
    def said(moves, loss):
        mean = np.cumsum(np.ones((4, 3, 2)), axis=1) * np.array(moves)[:, None, None]
        losses = np.full((4, 30), 1.0) * np.array(loss)[:, None]
        return shift_sentence(CovariateShift(("",) * 4, np.arange(3), mean, np.ones((4, 3, 2)), losses, np.ones(4)))

    assert "does not help by removing the shift" in said([0.2, 0.1, 0.0, 0.4], [1.0, 0.5, 0.1, 0.2])
    assert "does not tell" in said([0.2, 0.1, 0.0, 0.1], [1.0, 0.5, 0.1, 0.2])
    assert "does not tell" in said([0.2, 0.1, 0.0, 0.4], [1.0, 0.5, 0.1, 1.2])
    assert said([0.2, 0.1, 0.0, 0.4], [np.nan, 0.5, 0.1, 0.2]).startswith("Diverged: no norm.")
