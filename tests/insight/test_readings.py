"""What the readings of norms, placements, inits, arrangements and pairings say, computed on nets that do it."""

from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

from addnorm.probe import probe_outputs
from models.instruments.attention import attention_parts
from models.nets.branches import Attention
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


@pytest.mark.full
def test_the_book_s_transformer_has_no_sink():
    """What the glossary says of attention sinks, massive activations and a gate after attention."""
    size = {"net": "transformer", "task": "book", "depth": 4, "width": 32, "lr": 0.01, "batch": 8, "steps": 1000}
    losses, read = {}, []
    for seed, is_gated in product((0, 1), (False, True)):
        run = Run(RunConfig.arranged("pre-norm", seed=seed, **size), probe=False, frames=False)
        attentions = [part for part in run.model.modules() if isinstance(part, Attention)]
        if is_gated:
            gates = [nn.Linear(32, 32) for _ in attentions]
            for attention, gate in zip(attentions, gates, strict=True):
                attention.norm_mid = Gated(attention, gate)
            run.optimizer.add_param_group({"params": [p for gate in gates for p in gate.parameters()], "lr": 0.01})
        run.advance(1000)
        losses[seed, is_gated] = float(run.trace().loss[-20:].mean())
        if is_gated:
            continue
        read.clear()
        for attention in attentions:
            attention.register_forward_pre_hook(lambda module, args: read.append((module, args[0])))
        with torch.no_grad(), probe_outputs(run.model.stream.stream_taps, gradients=False) as probe:
            run.model(run.next_batch()[0])
        assert max((x.abs().max() / x.abs().median()).item() for x in probe.tensors()) < 12
        for attention, x in read:
            weights = attention_parts(attention, x).weights
            late = torch.arange(weights.shape[-1] // 2, weights.shape[-1])
            to_first = weights[:, :, late, 0].mean(0)  # (H, T / 2)
            assert to_first.mean(-1).max() < 0.08
            assert (to_first * (late + 1)).mean(-1).max() < 2
    for seed in (0, 1):
        assert abs(losses[seed, True] - losses[seed, False]) < 0.05


class Gated(nn.Module):
    """sigmoid(W x) times what the heads give, of the x that the attention reads (2505.06708); W is 0 at first."""

    def __init__(self, attention: nn.Module, gate: nn.Linear) -> None:
        super().__init__()
        nn.init.zeros_(gate.weight)
        nn.init.zeros_(gate.bias)
        self.gate = gate
        attention.register_forward_pre_hook(lambda _module, args: setattr(self, "read", args[0]))

    def forward(self, heads: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.gate(self.read)) * heads
