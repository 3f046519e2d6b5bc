"""The stacks with more than one stream, recursive skips and mixed arrangements, against forward passes written by hand."""

import math

import pytest
import torch

from models.insight.theory import law
from models.nets import build_model
from models.spec import RunConfig
from tests import hand

MLP = {"net": "mlp", "width": 8, "eps": hand.EPS, "expansion": 2}
NETS = {"mlp": MLP, "transformer": MLP | {"net": "transformer", "heads": 2}}
both_nets = pytest.mark.parametrize("net", NETS)


def arranged(name: str, net: str = "mlp", depth: int = 3, **fields):
    return hand.randomise(build_model(RunConfig.arranged(name, depth=depth, **(NETS[net] | fields))))


def kind_of(module) -> str:
    return "attention" if hasattr(module.function, "w_o") else "two layers"


def f(x, module):
    """The branch alone: its value is what the equation adds to nothing."""
    return hand.sublayer(x, module, kind_of(module), placement="none", norm="none", residual=False)


@both_nets
def test_residual_collects_the_branches_in_a_second_stream_and_joins_both_at_the_end(net):
    stream = arranged("ResiDual", net).stream
    x = y = hand.stream_of()
    for module in stream.sublayers:
        branch = f(x, module)
        x, y = hand.layer_norm(x + branch, module.norm_add, hand.EPS), y + branch
    expected = x + hand.layer_norm(y, stream.norm_collected, hand.EPS)
    hand.assert_close(stream(hand.stream_of()), expected)


@both_nets
def test_dlcl_reads_a_weighted_sum_of_all_earlier_blocks_and_so_does_the_head(net):
    """After random weights, so that they are really used; each of the later rows sums one block more."""
    stream = arranged("DLCL", net).stream
    outputs = [hand.stream_of()]
    for number, block in enumerate(stream.blocks.values()):
        x = summed(outputs, stream, number)
        for module in block.values():
            x = hand.sublayer(x, module, kind_of(module), placement="pre-norm", norm="layer norm")
        outputs.append(x)
    hand.assert_close(stream(hand.stream_of()), summed(outputs, stream, len(stream.blocks)))


def summed(outputs, stream, row):
    normed = [hand.layer_norm(y, norm, hand.EPS) for y, norm in zip(outputs, stream.norms, strict=False)]
    assert len(stream.weights[row]) == len(outputs)
    return sum(weight * y for weight, y in zip(stream.weights[row], normed, strict=True))


def test_dlcl_starts_with_the_average_of_what_it_sums_and_learns_it():
    stream = build_model(RunConfig.arranged("DLCL", depth=4, width=8)).stream
    for row, weights in enumerate(stream.weights, start=1):
        assert weights.requires_grad
        torch.testing.assert_close(weights.detach(), torch.full((row,), 1 / row))


@both_nets
def test_learned_scalars_weigh_the_stream_and_its_start(net):
    """nanochat's gpt.py: x = resid_lambdas[i] * x + x0_lambdas[i] * x0, then the block."""
    stream = arranged("pre-norm", net, stack="learned scalars").stream
    x = x0 = hand.stream_of()
    for scalars, block in zip(stream.scalars, stream.blocks.values(), strict=True):
        x = scalars.resid_lambda * x + scalars.x0_lambda * x0
        for module in block.values():
            x = hand.sublayer(x, module, kind_of(module), placement="pre-norm", norm="layer norm")
    hand.assert_close(stream(x0), x)


@both_nets
def test_learned_scalars_start_as_the_single_stream(net):
    fields = {"depth": 3, **NETS[net]}
    single, scaled = (build_model(RunConfig(stack=stack, **fields)).stream for stack in ("single", "learned scalars"))
    x = hand.stream_of().float()
    assert torch.equal(single(x), scaled(x))
    assert law(RunConfig(stack="learned scalars")).mean_square == pytest.approx(law(RunConfig()).mean_square)


@both_nets
def test_a_recursive_skip_adds_and_norms_the_stream_twice(net):
    """y_1 = N(x + f(x)), y_2 = N'(x + y_1), with two norms of their own (Liu 2020, k = 2)."""
    stream = arranged("recursive skip", net).stream
    x = hand.stream_of()
    for module in stream.sublayers:
        once = hand.layer_norm(x + f(x, module), module.norm_add, hand.EPS)
        x = hand.layer_norm(x + once, module.norm_again, hand.EPS)
    hand.assert_close(stream(hand.stream_of()), x)


@both_nets
def test_keel_norms_the_branchs_input_and_the_sum_with_a_skip_of_weight_m(net):
    stream = arranged("Keel", net).stream
    sublayers = {"mlp": 3, "transformer": 6}[net]
    x = hand.stream_of()
    for module in stream.sublayers:
        branch = f(hand.layer_norm(x, module.norm_in, hand.EPS), module)
        x = hand.layer_norm(sublayers * x + branch, module.norm_add, hand.EPS)
    hand.assert_close(stream(hand.stream_of()), x)


@both_nets
@pytest.mark.parametrize("depth", [1, 4, 5, 7])
def test_mix_ln_is_post_norm_in_the_first_quarter_of_the_blocks_and_pre_norm_after(depth, net):
    stream = arranged("Mix-LN", net, depth).stream
    x = hand.stream_of()
    for number, block in enumerate(stream.blocks.values(), start=1):
        placement = "post-norm" if number <= math.ceil(depth / 4) else "pre-norm"
        for module in block.values():
            x = hand.sublayer(x, module, kind_of(module), placement=placement, norm="layer norm")
    hand.assert_close(stream(hand.stream_of()), x)


def test_the_norms_of_a_stack_are_the_configured_norm():
    for name in ("ResiDual", "DLCL"):
        stream = arranged(name, norm="rms norm").stream
        own = [stream.norm_collected] if name == "ResiDual" else stream.norms
        x = hand.stream_of()
        for norm in own:
            hand.assert_close(norm(x), hand.rms_norm(x, norm, hand.EPS))


@both_nets
def test_only_pre_norm_has_a_final_norm(net):
    for name, normed in (
        ("pre-norm", True),
        ("sandwich", True),
        ("res-post-norm", True),
        ("post-norm", False),
        ("Keel", False),
    ):
        model = arranged(name, net)
        x = hand.stream_of()
        end = hand.layer_norm(x, model.final_norm, hand.EPS) if normed else x
        hand.assert_close(model.read_out(x), hand.linear(end, model.head))


@both_nets
@pytest.mark.parametrize("stack", ["residual", "dlcl"])
def test_an_identity_block_adds_nothing_to_any_stream(stack, net):
    fields = {"stack": stack, "placement": "post-norm" if stack == "residual" else "pre-norm", "norm": "layer norm"}
    cfg = RunConfig(**(NETS[net] | fields), depth=3, overrides=((2, "identity", True),))
    stream = hand.randomise(build_model(cfg)).stream
    x = y = hand.stream_of()
    outputs = [x]
    for number, block in enumerate(stream.blocks.values()):
        if stack == "dlcl":
            x = summed(outputs, stream, number)
        for module in block.values() if number != 1 else ():
            branch = f(x, module) if stack == "residual" else 0
            y = y + branch
            x = hand.sublayer(x, module, kind_of(module), placement=cfg.placement, norm="layer norm")
        outputs.append(x)
    end = x + hand.layer_norm(y, stream.norm_collected, hand.EPS) if stack == "residual" else summed(outputs, stream, 3)
    hand.assert_close(stream(hand.stream_of()), end)
