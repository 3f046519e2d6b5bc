"""Each placement, norm and scale against its paper's equation, written out by hand in `tests/hand.py`."""

import math

import pytest
import torch

from models.nets import Gate, Sublayer, build_model, build_skip
from models.spec import NORMS, PLACEMENTS, RunConfig
from tests import hand

BRANCHES = {
    "one layer": {"net": "mlp", "layers_per_branch": 1},
    "two layers": {"net": "mlp", "layers_per_branch": 2, "expansion": 3},
    "transformer": {"net": "transformer", "heads": 2, "expansion": 3},
}


def stack(**fields):
    """A randomised stack of width 8 whose eps is not the default."""
    return hand.randomise(build_model(RunConfig(**({"width": 8, "depth": 3, "eps": hand.EPS} | fields)))).stream


def by_hand(stream, x, **sublayer):
    """All blocks of a stack, one paper's equation after the other."""
    for block in stream.blocks.values():
        for kind, module in block.items():
            name = {"attn": "attention", "ffn": "two layers"}.get(kind, sublayer.get("mlp", "two layers"))
            x = hand.sublayer(x, module, name, **{key: value for key, value in sublayer.items() if key != "mlp"})
    return x


def test_every_placement_and_norm_has_its_equation_here():
    assert set(hand.PLACEMENTS) == set(PLACEMENTS)
    assert set(hand.NORMS) == set(NORMS)


@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.parametrize("residual", [True, False], ids=["residual", "no residual"])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_placement_is_its_papers_equation(placement, norm, residual, branch):
    stream = stack(placement=placement, norm=norm, residual=residual, activation="gelu", **BRANCHES[branch])
    expected = by_hand(
        stream, hand.stream_of(), mlp=branch, placement=placement, norm=norm, residual=residual, activation="gelu"
    )
    hand.assert_close(stream(hand.stream_of()), expected)


M = {"mlp": 3, "transformer": 6}
SKIPS = {
    0.7: lambda m: 0.7,
    2.0: lambda m: 2.0,
    "deepnorm": lambda m: math.sqrt(math.sqrt(m)),
    "depth": lambda m: m,
    "1/sqrt(depth)": lambda m: 1 / math.sqrt(m),
    "1/sqrt(2)": lambda m: math.sqrt(2) / 2,
}
BRANCH_WEIGHTS = {
    0.3: lambda m: 0.3,
    "1/sqrt(depth)": lambda m: 1 / math.sqrt(m),
    "1/sqrt(2)": lambda m: math.sqrt(2) / 2,
}
both_nets = pytest.mark.parametrize("net", ["mlp", "transformer"])


@both_nets
@pytest.mark.parametrize("placement", ["post-norm", "sandwich", "none"])
@pytest.mark.parametrize("scale", SKIPS)
def test_the_skip_weight_multiplies_the_stream_alone(scale, placement, net):
    stream = stack(skip_scale=scale, placement=placement, net=net, heads=2)
    expected = by_hand(stream, hand.stream_of(), placement=placement, norm="layer norm", skip=SKIPS[scale](M[net]))
    hand.assert_close(stream(hand.stream_of()), expected)


@both_nets
@pytest.mark.parametrize("placement", ["post-norm", "sandwich", "none"])
@pytest.mark.parametrize("scale", BRANCH_WEIGHTS)
def test_the_branch_scale_multiplies_the_normed_branch_before_the_add(scale, placement, net):
    stream = stack(branch_scale=scale, placement=placement, net=net, heads=2)
    weight = BRANCH_WEIGHTS[scale](M[net])
    expected = by_hand(stream, hand.stream_of(), placement=placement, norm="layer norm", branch=weight)
    hand.assert_close(stream(hand.stream_of()), expected)


@both_nets
@pytest.mark.parametrize("gate", ["zero gate", "layer scale"])
def test_a_gate_is_learned_and_multiplies_the_branch(gate, net):
    stream = stack(branch_scale=gate, placement="sandwich", net=net, heads=2)
    x = hand.stream_of()
    for module in stream.sublayers:
        kind = "attention" if hasattr(module.function, "w_o") else "two layers"
        learned = module.scale.gate
        assert learned.requires_grad
        assert learned.shape == ((1,) if gate == "zero gate" else (8,))
        x = hand.sublayer(x, module, kind, placement="sandwich", norm="layer norm", branch=learned)
    hand.assert_close(stream(hand.stream_of()), x)


@both_nets
@pytest.mark.parametrize("norm", ["layer norm", "none"])
def test_layer_norm_scaling_divides_what_block_l_reads_by_the_root_of_l(norm, net):
    """The block counts, not the sublayer: attention and feed-forward of one block share the factor (2502.05795)."""
    stream = stack(input_scale="1/sqrt(block)", norm=norm, net=net, heads=2)
    x = hand.stream_of()
    for number, block in enumerate(stream.blocks.values(), start=1):
        for kind, module in block.items():
            name = "attention" if kind == "attn" else "two layers"
            x = hand.sublayer(x, module, name, placement="pre-norm", norm=norm, first=number**-0.5)
    hand.assert_close(stream(hand.stream_of()), x)


def test_a_number_on_the_skip_does_not_survive_without_a_residual():
    heavy, plain = (stack(skip_scale=weight, residual=False)(hand.stream_of()) for weight in (7.0, 1.0))
    assert torch.equal(heavy, plain)


@pytest.mark.parametrize("fields", [{"residual": False}, {"skip_scale": 0.0}], ids=["residual off", "skip weight 0"])
def test_no_skip_is_zero_and_not_nan_once_the_stream_has_overflowed(fields):
    overflowed = torch.full((2, 3, 8), math.inf)
    assert build_skip(0.0)(overflowed) == 0.0
    # Dynamic tanh takes infinity to 1, so the branch stays finite and whatever is not comes from the skip.
    stream = build_model(RunConfig(width=8, depth=2, norm="dynamic tanh", **fields)).stream
    assert stream(overflowed).isfinite().all()
    with_skip = build_model(RunConfig(width=8, depth=2, norm="dynamic tanh")).stream
    assert not with_skip(overflowed).isfinite().any()


def test_a_sublayer_can_be_built_in_a_shell_from_its_parts():
    doubled = Sublayer(torch.nn.Linear(8, 8), scale=Gate(0.25), norm_out=torch.nn.Tanh(), skip=build_skip(3.0)).double()
    x = hand.stream_of()
    hand.assert_close(doubled(x), 3 * x + 0.25 * hand.tanh(hand.linear(x, doubled.function)))


def test_an_overridden_block_differs_and_the_others_do_not():
    stream = stack(
        depth=5,
        placement="pre-norm",
        overrides=(
            (1, "placement", "post-norm"),
            (2, "norm", "rms norm"),
            (3, "residual", False),
            (4, "identity", True),
            (5, "activation", "tanh"),
        ),
    )
    x = hand.stream_of()
    own = [
        {"placement": "post-norm", "norm": "layer norm"},
        {"placement": "pre-norm", "norm": "rms norm"},
        {"placement": "pre-norm", "norm": "layer norm", "residual": False},
        None,
        {"placement": "pre-norm", "norm": "layer norm", "activation": "tanh"},
    ]
    for module, fields in zip(stream.sublayers, own, strict=True):
        x = x if fields is None else hand.sublayer(x, module, "two layers", **fields)
    hand.assert_close(stream(hand.stream_of()), x)
