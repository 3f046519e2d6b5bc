"""How weights are drawn: the spread of every matrix by its role, and that seed and name alone decide each of them."""

import math

import pytest
import torch

from models.nets import INITS, build_model
from models.spec import ARRANGEMENTS, RunConfig
from models.spec.scales import deepnorm_gain, initial_gate, scale_value

WIDTH, EXPANSION, DEPTH = 256, 2, 3
NETS = {
    "one layer": {"net": "mlp", "layers_per_branch": 1},
    "two layers": {"net": "mlp", "layers_per_branch": 2},
    "transformer": {"net": "transformer"},
}
OUTPUT_MATRICES = {"w", "w2", "w_o"}


def expected_std(init: str, role: str, inputs: int, outputs: int, sublayers: int) -> float:
    """The papers' standard deviations; M is the number of sublayers."""
    fan_in, xavier = 1 / math.sqrt(inputs), math.sqrt(2 / (inputs + outputs))
    is_output = role in OUTPUT_MATRICES
    return {
        "fan-in": fan_in,
        "he": math.sqrt(2) * fan_in,
        "xavier": xavier,
        "torch": fan_in / math.sqrt(3),
        "orthogonal": 1 / math.sqrt(max(inputs, outputs)),
        "normal 0.02": 0.02,
        "gpt2": fan_in / math.sqrt(sublayers) if is_output else fan_in,
        "zero last": 0.0 if is_output else fan_in,
        "deepnorm": xavier * (1.0 if role in {"w_q", "w_k"} else 1 / (4 * sublayers) ** 0.25),
    }[init]


def branch_weights(cfg: RunConfig) -> dict[str, torch.Tensor]:
    named = build_model(cfg).named_parameters()
    return {name: p.detach().double() for name, p in named if ".function.w" in name and name.endswith("weight")}


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("init", INITS)
def test_every_matrix_has_the_spread_of_its_role(init, net):
    cfg = RunConfig(width=WIDTH, expansion=EXPANSION, depth=DEPTH, init=init, **NETS[net])
    sublayers = 2 * DEPTH if net == "transformer" else DEPTH
    weights = branch_weights(cfg)
    assert len(weights) == DEPTH * {"one layer": 1, "two layers": 2, "transformer": 6}[net]
    for name, weight in weights.items():
        outputs, inputs = weight.shape
        expected = expected_std(init, name.split(".")[-2], inputs, outputs, sublayers)
        # Five standard errors of a root mean square over that many numbers.
        error = 5 / math.sqrt(2 * weight.numel())
        assert weight.square().mean().sqrt().item() == pytest.approx(expected, rel=error, abs=0)
        assert abs(weight.mean().item()) <= 5 * expected / math.sqrt(weight.numel())


def test_the_feed_forward_matrices_are_as_wide_as_the_expansion_says():
    shapes = {
        name.split(".")[-2]: tuple(w.shape)
        for name, w in branch_weights(RunConfig(width=8, expansion=3, depth=1)).items()
    }
    assert shapes == {"w1": (24, 8), "w2": (8, 24)}


def test_torch_init_is_uniform_and_the_normal_ones_are_not():
    for init, kurtosis in (("torch", 1.8), ("fan-in", 3.0), ("xavier", 3.0)):
        (weight, *_) = branch_weights(RunConfig(width=WIDTH, depth=1, init=init)).values()
        assert (weight.pow(4).mean() / weight.square().mean() ** 2).item() == pytest.approx(kurtosis, rel=0.05)
    (uniform, *_) = branch_weights(RunConfig(width=WIDTH, depth=1, init="torch")).values()
    assert uniform.abs().max() <= 1 / math.sqrt(WIDTH)


def test_orthogonal_weights_keep_lengths_through_a_square_or_widening_matrix():
    for name, weight in branch_weights(RunConfig(width=32, expansion=2, depth=1, init="orthogonal")).items():
        outputs, inputs = weight.shape
        product = weight.T @ weight if outputs >= inputs else weight @ weight.T
        torch.testing.assert_close(product, torch.eye(min(outputs, inputs)).double(), rtol=0, atol=1e-5, msg=name)


def test_init_gain_multiplies_every_branch_weight_and_nothing_else():
    one, three = (
        dict(build_model(RunConfig(width=16, depth=2, init_gain=gain)).named_parameters()) for gain in (1.0, 3.0)
    )
    for name in one:
        factor = 3.0 if ".function.w" in name else 1.0
        torch.testing.assert_close(three[name], factor * one[name], rtol=1e-6, atol=0, msg=name)


def test_what_is_not_a_branch_weight_starts_as_its_role_demands():
    cfg = RunConfig(
        net="transformer", task="book", width=WIDTH, depth=2, placement="sandwich", norm="dynamic tanh", qk_norm=True
    )
    for name, parameter in build_model(cfg).named_parameters():
        owner, kind = name.split(".")[-2:]
        if kind == "bias":
            assert (parameter == 0).all(), name
        elif kind == "alpha":
            assert parameter == 0.5, name
        elif owner.startswith(("norm", "final_norm")):
            assert (parameter == 1).all(), name
        elif owner == "head":
            assert parameter.std().item() == pytest.approx(WIDTH**-0.5, rel=0.03)
        elif owner == "embed":
            assert parameter.std().item() == pytest.approx(1.0, rel=0.03)
        else:
            assert ".function.w" in name, name


@pytest.mark.parametrize(
    ("layers", "alpha", "beta"),
    [(6, 1.8612, 0.3799), (12, 2.2134, 0.3195), (24, 2.6321, 0.2686), (48, 3.1302, 0.2259), (100, 3.7606, 0.1880)],
)
def test_deepnorms_constants_are_the_papers(layers, alpha, beta):
    """The paper counts N layers of two sublayers, so M = 2N (2203.00555, encoder or decoder alone)."""
    assert scale_value("deepnorm", 2 * layers) == pytest.approx(alpha, abs=6e-5)
    assert deepnorm_gain(2 * layers) == pytest.approx(beta, abs=6e-5)


def test_deepnorm_uses_those_constants_in_a_net():
    cfg = RunConfig.arranged("DeepNorm", net="transformer", depth=12, width=WIDTH)
    model = build_model(cfg)
    assert model.stream.blocks["b07"]["attn"].skip.weight == pytest.approx(2.2134, abs=6e-5)
    value, query = (
        getattr(model.stream.blocks["b07"]["attn"].function, role).weight.std().item() for role in ("w_v", "w_q")
    )
    assert value / query == pytest.approx(0.3195, rel=0.02)


@pytest.mark.parametrize(("depth", "start"), [(1, 0.1), (18, 0.1), (19, 1e-5), (24, 1e-5), (25, 1e-6), (128, 1e-6)])
def test_layer_scale_starts_smaller_in_deeper_nets(depth, start):
    assert initial_gate("layer scale", depth) == start
    assert initial_gate("zero gate", depth) == 0
    gate = build_model(RunConfig(width=8, depth=depth, branch_scale="layer scale")).stream.sublayers[-1].scale.gate
    torch.testing.assert_close(gate.detach(), torch.full((8,), start))


# --- seed and name decide ---


@pytest.mark.parametrize("net", ["mlp", "transformer"])
def test_two_arrangements_share_the_weights_that_they_have_in_common(net):
    """Only what an init rule changes by itself may differ: DeepNorm and GPT-2 init."""
    nets = {
        name: dict(build_model(RunConfig.arranged(name, net=net, depth=4, width=16)).named_parameters())
        for name in ARRANGEMENTS
        if name not in ("DeepNorm", "pre-norm + GPT-2 init")
    }
    reference = nets["residual only"]
    for name, parameters in nets.items():
        assert set(reference) <= set(parameters), name
        assert all(torch.equal(reference[key], parameters[key]) for key in reference), name


def test_a_deeper_net_begins_with_the_shallower_one():
    shallow, deep = (dict(build_model(RunConfig(depth=depth, width=16)).named_parameters()) for depth in (2, 5))
    assert all(torch.equal(shallow[name], deep[name]) for name in shallow)


def test_one_seed_gives_one_net_and_another_seed_another():
    weights = [branch_weights(RunConfig(depth=2, width=16, seed=seed)) for seed in (0, 0, 1)]
    for name in weights[0]:
        assert torch.equal(weights[0][name], weights[1][name])
        assert not torch.isclose(weights[0][name], weights[2][name]).any()


def test_no_two_matrices_of_a_net_are_copies_of_each_other():
    """torch's encoder copies one layer; then all blocks start the same and mean-field facts do not hold."""
    weights = list(branch_weights(RunConfig(net="transformer", depth=3, width=16, expansion=1)).values())
    assert all(not torch.isclose(a, b).any() for i, a in enumerate(weights) for b in weights[:i])


def test_building_a_net_leaves_torchs_own_random_numbers_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    first = branch_weights(RunConfig(depth=1, width=16))
    torch.manual_seed(4)
    assert all(
        torch.equal(first[name], weight) for name, weight in branch_weights(RunConfig(depth=1, width=16)).items()
    )
    torch.manual_seed(3)
    assert torch.equal(torch.rand(2), expected)


def test_torch_draws_biases_from_the_range_of_its_weights_and_this_app_starts_them_at_0() -> None:
    torch.manual_seed(0)
    bias = torch.nn.Linear(64, 4096).bias
    assert bias.abs().max().item() <= 1 / 8
    assert bias.var().item() == pytest.approx(1 / (3 * 64), rel=0.05)
    ours = [p for name, p in build_model(RunConfig(init="torch")).named_parameters() if name.endswith("bias")]
    assert all(not one.any() for one in ours)
