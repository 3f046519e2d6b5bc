"""What the readings of norms, placements, inits, arrangements and pairings say, computed on nets that do it."""

import numpy as np
import pytest
import torch
from torch import nn

from models.insight import signal_at_init
from models.nets import build_model
from models.spec import ARRANGEMENTS, INITS, NORMS, PLACEMENTS, RunConfig
from models.spec.pairings import PAIRINGS


def growth(cfg: RunConfig) -> float:
    """The factor on the mean square of the stream over depth, the geometric mean of four seeds."""
    found = signal_at_init(cfg, range(4), rows=64).mean_square
    return float(np.exp(np.log(found[:, -1] / found[:, 0]).mean()))


def test_he_init_keeps_the_plain_net_of_its_pairing_level_and_lets_the_residual_one_explode():
    plain, residual, normed = PAIRINGS["He init with and without norm, 48 blocks"].make()
    assert abs(np.log10(growth(plain))) < 1.5
    assert growth(residual) > 1e12
    assert growth(normed) < 1e4
    two_layers = RunConfig.arranged("plain", depth=48, init="he", layers_per_branch=2)
    assert growth(two_layers) > 1e12, "He's factor of 2 is for one layer: of two, each block doubles the mean square"


def test_rms_norm_does_not_keep_the_mean_and_says_so():
    normed = nn.RMSNorm(3)(torch.tensor([3.0, 4.0, 5.0]))
    assert normed.mean().item() == pytest.approx(0.98, abs=0.01)
    assert normed.square().mean().item() == pytest.approx(1.0, abs=1e-3)
    assert "does not subtract their mean" in NORMS["rms norm"].reading
    assert "unit mean square" in NORMS["rms norm"].reading


@pytest.mark.parametrize("net", ["mlp", "transformer"])
@pytest.mark.parametrize("depth", [8, 32])
def test_under_gpt2s_init_the_stream_grows_by_half_at_most_whatever_the_depth(net, depth):
    assert 1.25 < growth(RunConfig.arranged("pre-norm + GPT-2 init", net=net, depth=depth)) < 1.6
    assert "at most about half" in ARRANGEMENTS["pre-norm + GPT-2 init"].reading


def test_that_gpt2s_init_adds_about_half_is_said_of_relu_branches_of_two_layers():
    """One layer leaves a mean that adds up over the blocks; the identity throws nothing away."""
    name = "pre-norm + GPT-2 init"
    assert growth(RunConfig.arranged(name, depth=64, layers_per_branch=1)) > 5
    assert growth(RunConfig.arranged(name, depth=64, activation="identity")) > 1.8
    assert "of two layers, with ReLU" in ARRANGEMENTS[name].reading


def test_layernorm_scaling_grows_like_a_logarithm_with_relu_branches_of_two_layers_and_faster_with_others():
    name = "LayerNorm scaling"
    for depth in (16, 64):
        harmonic = sum(1 / block for block in range(1, depth + 1))
        assert growth(RunConfig.arranged(name, depth=depth)) == pytest.approx(1 + harmonic / 2, rel=0.15)
    law = 1 + sum(1 / block for block in range(1, 65)) / 2
    assert growth(RunConfig.arranged(name, depth=64, layers_per_branch=1)) > 5 * law
    assert growth(RunConfig.arranged(name, depth=64, activation="sigmoid")) > 3 * law
    assert "where branches have two layers with ReLU" in ARRANGEMENTS[name].reading


def test_the_plain_nets_of_the_resnet_paper_had_batch_norm_and_stand_with_those_that_have_a_norm():
    """He 2015, 1512.03385, section 3.4: batch norm right after each convolution."""
    assert "ResNet" in ARRANGEMENTS["plain + norm"].used_by
    assert "1512.03385" not in ARRANGEMENTS["plain"].source
    assert "ResNet" not in ARRANGEMENTS["plain"].used_by


def test_torchs_own_biases_are_drawn_and_the_nets_here_start_at_zero():
    assert nn.Linear(64, 64).bias.abs().max() > 0.05
    model = build_model(RunConfig(depth=2, init="torch"))
    assert all(not p.any() for name, p in model.named_parameters() if name.endswith("w1.bias"))
    assert "PyTorch draws its biases" in INITS["torch"].reading


def test_mid_norm_is_sub_ln_in_attention_only():
    """Sub-LN norms after the activation, and the branch's input too (2210.06423)."""
    block = build_model(RunConfig(net="transformer", placement="mid-norm", depth=1)).stream.blocks["b01"]
    order = [name for name, _ in block.ffn.function.named_children()]
    assert order.index("w1") < order.index("norm_mid") < order.index("activation")
    assert isinstance(block.ffn.norm_in, nn.Identity)
    assert "only the norm in attention" in PLACEMENTS["mid-norm"].source


def test_qk_norm_is_by_head_where_olmo_2_norms_the_whole_projection():
    attention = (
        build_model(RunConfig.arranged("res-post-norm + QK-norm", net="transformer", depth=1)).stream.blocks["b01"].attn
    )
    assert attention.function.norm_q.normalized_shape == (16,)
    assert "here each head has its own" in ARRANGEMENTS["res-post-norm + QK-norm"].reading
