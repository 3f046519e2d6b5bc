"""What the readings of norms, placements, inits, arrangements and pairings say, computed on nets that do it."""

import numpy as np
import pytest
import torch
from torch import nn

from addnorm.probe import probe_outputs
from models.spec import RunConfig
from models.spec.pairings import PAIRINGS
from models.training import Run
from tests import traces


def growth(cfg: RunConfig) -> float:
    """The factor on the mean square of the stream over depth, the geometric mean of four seeds."""
    found = traces.signal(cfg, range(4), rows=64).mean_square
    return float(np.exp(np.log(found[:, -1] / found[:, 0]).mean()))


def test_he_init_keeps_the_plain_net_of_its_pairing_level_and_lets_the_residual_one_explode():
    plain, residual, normed = PAIRINGS["He init with and without norm, 48 blocks"].make()
    assert abs(np.log10(growth(plain))) < 1.5
    assert growth(residual) > 1e12
    assert growth(normed) < 1e4
    two_layers = RunConfig.arranged("plain", depth=48, init="he", layers_per_branch=2)
    assert growth(two_layers) > 1e12, "He's factor of 2 is for one layer: of two, each block doubles the mean square"


@pytest.mark.parametrize("net", ["mlp", "transformer"])
@pytest.mark.parametrize("depth", [8, 32])
def test_under_gpt2s_init_the_stream_grows_by_half_at_most_whatever_the_depth(net, depth):
    assert 1.25 < growth(RunConfig.arranged("pre-norm + GPT-2 init", net=net, depth=depth)) < 1.6


def test_post_norms_final_norm_acts_once_trained():
    run = Run(RunConfig.arranged("post-norm", depth=2, width=16, batch=16, lr=0.1, steps=60, device="cpu"))
    norm = nn.LayerNorm(16)

    def moved() -> float:
        with torch.no_grad(), probe_outputs(run.model.stream.stream_taps, gradients=False) as probe:
            run.model(run.task.held_out[0][:64])
            end = list(probe.tensors())[-1]
        return float((norm(end) - end).detach().abs().max())

    assert moved() < 1e-3
    run.advance(60)
    assert moved() > 0.05


def test_gpt2s_init_adds_more_than_half_with_branches_of_one_layer_or_without_relu():
    """One layer leaves a mean that adds up over the blocks; the identity throws nothing away."""
    name = "pre-norm + GPT-2 init"
    assert growth(RunConfig.arranged(name, depth=64, layers_per_branch=1)) > 5
    assert growth(RunConfig.arranged(name, depth=64, activation="identity")) > 1.8


def test_layernorm_scaling_grows_like_a_logarithm_with_relu_branches_of_two_layers_and_faster_with_others():
    name = "LayerNorm scaling"
    for depth in (16, 64):
        harmonic = sum(1 / block for block in range(1, depth + 1))
        assert growth(RunConfig.arranged(name, depth=depth)) == pytest.approx(1 + harmonic / 2, rel=0.15)
    law = 1 + sum(1 / block for block in range(1, 65)) / 2
    assert growth(RunConfig.arranged(name, depth=64, layers_per_branch=1)) > 5 * law
    assert growth(RunConfig.arranged(name, depth=64, activation="sigmoid")) > 3 * law
