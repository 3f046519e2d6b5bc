"""What the readings of norms, placements, inits, arrangements and pairings say, computed on nets that do it."""

import numpy as np
import pytest
import torch
from torch import nn

from addnorm.probe import probe_outputs
from models.nets import build_model
from models.nets.norms import build_norm
from models.spec import ARRANGEMENTS, PLACEMENTS, RunConfig
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


def test_rms_norm_does_not_keep_the_mean():
    normed = nn.RMSNorm(3)(torch.tensor([3.0, 4.0, 5.0]))
    assert normed.mean().item() == pytest.approx(0.98, abs=0.01)
    assert normed.square().mean().item() == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("net", ["mlp", "transformer"])
@pytest.mark.parametrize("depth", [8, 32])
def test_under_gpt2s_init_the_stream_grows_by_half_at_most_whatever_the_depth(net, depth):
    assert 1.25 < growth(RunConfig.arranged("pre-norm + GPT-2 init", net=net, depth=depth)) < 1.6
    assert "at most about half" in ARRANGEMENTS["pre-norm + GPT-2 init"].description


def test_adams_first_steps_are_the_learning_rate_and_later_ones_mostly_smaller():
    run = Run(RunConfig(depth=4, width=32, batch=32, optimizer="adam", lr=1e-3, steps=80, device="cpu"), frames=False)

    def step() -> torch.Tensor:
        before = [p.detach().clone() for p in run.model.parameters()]
        run.advance(1)
        moved = [(p.detach() - old).abs().flatten() for p, old in zip(run.model.parameters(), before, strict=True)]
        return torch.cat(moved) / 1e-3

    first = step()
    assert first[first > 0].quantile(0.1) > 0.99
    assert first.max() < 1.01
    run.advance(70)
    later = step()
    assert later.median() < 0.5
    assert (later < 1).double().mean() > 0.9


def test_what_a_sandwich_adds_has_the_size_of_its_norms_gain():
    run = Run(RunConfig.arranged("sandwich", depth=4, width=32, batch=32, lr=0.1, steps=60, device="cpu"))
    run.advance(60)
    branches = run.trace().branch_rms
    np.testing.assert_allclose(branches[0], 1, atol=1e-3)
    assert np.abs(branches[-1] - 1).max() > 0.015
    assert "of the size of the norm's gain, 1 at first" in PLACEMENTS["sandwich"].description


def test_rms_norm_has_no_bias_and_dynamic_tanh_no_eps():
    assert not [name for name, _ in build_norm("rms norm", 4).named_parameters() if name == "bias"]
    x = torch.randn(3, 4)
    torch.testing.assert_close(build_norm("dynamic tanh", 4, 1.0)(x), build_norm("dynamic tanh", 4, 1e-5)(x))


def test_a_final_norm_after_post_norm_changes_nothing_at_the_start_and_something_once_gains_have_moved():
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


def test_the_plain_nets_of_the_resnet_paper_had_batch_norm_and_stand_with_those_that_have_a_norm():
    """He 2015, 1512.03385, section 3.4: batch norm right after each convolution."""
    assert "ResNet" in ARRANGEMENTS["plain + norm"].used_by
    assert "1512.03385" not in ARRANGEMENTS["plain"].source
    assert "ResNet" not in ARRANGEMENTS["plain"].used_by


def test_torchs_own_biases_are_drawn_and_the_nets_here_start_at_zero():
    assert nn.Linear(64, 64).bias.abs().max() > 0.05
    model = build_model(RunConfig(depth=2, init="torch"))
    assert all(not p.any() for name, p in model.named_parameters() if name.endswith("w1.bias"))


def test_mid_norm_is_sub_ln_in_attention_only():
    """Sub-LN norms after the activation, and the branch's input too (2210.06423)."""
    block = build_model(RunConfig(net="transformer", placement="mid-norm", depth=1)).stream.blocks["b01"]
    order = [name for name, _ in block.ffn.function.named_children()]
    assert order.index("w1") < order.index("norm_mid") < order.index("activation")
    assert isinstance(block.ffn.norm_in, nn.Identity)


def test_qk_norm_is_by_head_where_olmo_2_norms_the_whole_projection():
    attention = (
        build_model(RunConfig.arranged("res-post-norm + QK-norm", net="transformer", depth=1)).stream.blocks["b01"].attn
    )
    assert attention.function.norm_q.normalized_shape == (16,)
