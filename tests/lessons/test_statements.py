"""What sentences of lessons, claims, labs and glossary say, by networks of a few lines that use nothing of the app."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from exhibits.labs.attention.head.page import linearity_sentence
from exhibits.labs.attention.positions.page import bias_sentence
from exhibits.labs.gradients.chain.numbers import PRESETS, example_note, upstream_gradients
from exhibits.labs.gradients.net.page import deviation_reason, expectation_sentence
from exhibits.labs.normalization.saturation.page import bounds_sentence
from exhibits.labs.residual.token.page import end_sentence
from models.insight.comparison import signal_sentence
from models.labs.attention import linearity_errors
from models.labs.residual import run_sublayers
from models.lessons.judges import OTHERWISE, number_of_a_net, size_over_depth, which_learn
from models.spec import RunConfig
from models.spec.cautions import ZERO_LAST, config_caution
from models.training import profile_at_init


def layer_norm(x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def mean_squares(depth: int, width: int, seed: int = 0, *, layers: int = 2) -> np.ndarray:
    """Of the stream at all points (1 + depth,) of blocks x + f(x): ReLU, weights N(0, 1/inputs)."""
    source = torch.Generator().manual_seed(seed)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=source, dtype=torch.float64)

    x = drawn(128, width)
    sites = [x]
    for _ in range(depth):
        first, second = (drawn(width, width) / math.sqrt(width) for _ in range(2))
        branch = (x @ first).relu()
        x = x + (branch @ second if layers == 2 else branch)
        sites.append(x)
    return np.array([one.square().mean().item() for one in sites])


# --- laws that hold for some forms only ---


def test_one_layer_of_relu_more_than_doubles_the_stream_although_its_first_branch_adds_half() -> None:
    found = np.exp(np.mean([np.log(mean_squares(20, 128, seed, layers=1)) for seed in range(4)], 0))
    blocks = found[1:] / found[:-1]
    said = expectation_sentence(RunConfig(norm="none", placement="none", layers_per_branch=1, depth=20))
    first, last = (float(one) for one in re.findall(r"multiplies (?:the stream's mean square|it) by ([\d.]+\d)", said))
    assert first == pytest.approx(blocks[0], rel=0.03)
    assert last == pytest.approx(blocks[-4:].mean(), rel=0.06)
    assert last > 2 > blocks[0]
    two = mean_squares(20, 128)
    assert two[1:] / two[:-1] == pytest.approx(1.5, rel=0.12)


@pytest.mark.parametrize(("init", "gain"), [("fan-in", 1), ("he", 2), ("torch", 1 / 3)])
def test_the_mean_that_a_layer_leaves_is_that_of_the_weights_that_are_set(init: str, gain: float) -> None:
    z = np.random.default_rng(4).standard_normal(400_000) * math.sqrt(gain)
    said = re.search(r"have a mean \(([\d.]+) in the first block\)", deviation_reason(_one_layer(init), 1))
    assert said is not None
    assert float(said[1]) == pytest.approx(np.maximum(z, 0).mean(), rel=0.01)


def _one_layer(init: str) -> RunConfig:
    return RunConfig(norm="none", placement="none", layers_per_branch=1, init=init)


def test_ten_sigmoid_layers_at_xavier_pass_on_what_the_preset_multiplies() -> None:
    """By quadrature: z has variance 1 in the first layer, then E sigma^2 of the layer before."""
    z = (np.arange(40_000) - 20_000 + 0.5) / 2000
    weight = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    factors, square = [], 1.0
    for _ in range(10):
        sigma = 1 / (1 + np.exp(-z * square**0.5))
        factors.append((weight @ (sigma * (1 - sigma)) ** 2) ** 0.5)
        square = weight @ sigma**2
    preset = PRESETS["Sigmoid at Xavier"]
    assert preset == pytest.approx(factors, abs=6e-5)
    assert upstream_gradients(np.array(preset))[0] == pytest.approx(np.prod(factors), rel=2e-3)
    assert f"a spread of {square**0.5:.2f}" in example_note("Sigmoid at Xavier")


def test_a_closed_branch_with_a_norm_behind_it_adds_a_full_vector_after_one_update() -> None:
    """By hand: x + N(W2 relu(W1 N(x))) with W2 = 0, one step of SGD, and of Adam."""
    for optimiser, lr in ((torch.optim.SGD, 0.01), (torch.optim.Adam, 0.001)):
        source = torch.Generator().manual_seed(3)
        w1, head, x = (torch.randn(32, 32, generator=source) / 32**0.5 for _ in range(3))
        w2 = torch.zeros(32, 32, requires_grad=True)

        def added(w1: Tensor = w1, w2: Tensor = w2, x: Tensor = x) -> Tensor:
            return layer_norm((layer_norm(x) @ w1).relu() @ w2)

        assert added().abs().max() == 0
        nn.functional.cross_entropy((x + added()) @ head, torch.arange(32)).backward()
        optimiser([w2], lr=lr).step()
        assert added().square().mean().sqrt() > 0.8
    for placement, warned in (("sandwich", True), ("res-post-norm", True), ("pre-norm", False), ("post-norm", False)):
        assert ((config_caution(RunConfig(placement=placement, init="zero last")) or "") == ZERO_LAST) == warned
    assert config_caution(RunConfig(placement="sandwich", norm="dynamic tanh", init="zero last")) is None


# --- attention and norms ---


def test_t5s_buckets_under_a_causal_mask_begin_where_torchs_own_floor_puts_them() -> None:
    """Raffel 2019 in one direction: half of 32 buckets exact, the rest on a log scale up to 128."""
    at = np.arange(1, 129)
    bucket = np.where(at < 16, at, np.minimum(31, 16 + (np.log(at / 16) / np.log(128 / 16) * 16).astype(int)))
    own = [int(one) for one in at if (bucket == bucket[one - 1]).sum() == 1 and one < 16]
    said = bias_sentence("relative bias", 128)
    assert f"all 32 are for earlier tokens, and distances up to {own[-1]} have their own" in said
    assert said.startswith("Without a mask, 128 positions")


def test_attention_whose_scores_are_all_equal_is_linear_and_is_not_said_to_be_otherwise() -> None:
    x = np.random.default_rng(1).standard_normal((4, 6))
    y, values = x[::-1] / 2, np.random.default_rng(2).standard_normal((6, 3))
    equal = np.full((4, 4), 0.25)
    assert equal @ (x + y) @ values == pytest.approx(equal @ x @ values + equal @ y @ values)
    held, own = linearity_errors(x, y, (np.zeros((6, 2)), np.ones((6, 2)), values), 1.0)
    assert "so attention is linear" in linearity_sentence(held, own)
    held, own = linearity_errors(x, y, (values, values, values), 1.0)
    assert "linear only while its weights are fixed" in linearity_sentence(held, own)


def test_post_norms_end_sums_what_is_left() -> None:
    token, output = np.array([1.0, 2.0, -1.0]), np.array([0.5, 1.5, -0.5])
    total = token + output
    end, factor = (total - total.mean()) / np.sqrt(total.var() + 1e-5), 1 / np.sqrt(total.var() + 1e-5)
    assert np.abs(factor * token + factor * output - end).max() > 0.5
    assert factor * (token - token.mean()) + factor * (output - output.mean()) == pytest.approx(end)
    said = end_sentence(run_sublayers(token, [output], "post-norm"), 1.0)
    assert f"all outputs, each minus its mean, with x times {factor:.3g}." in said
    assert "each minus its mean" not in end_sentence(run_sublayers(token, [output], "pre-norm"), 1.0)


def test_unit_mean_square_reaches_the_root_of_d() -> None:
    one = np.zeros(16)
    one[0] = 4.0
    assert (one**2).mean() == 1
    assert one.max() == 16**0.5
    centred = (one - one.mean()) / one.std()
    assert centred.max() == pytest.approx(15**0.5)
    assert (
        f"fixes the mean at 0 and the mean square at 1, so no |z| exceeds √(d - 1) = {15**0.5:.3g}"
        in bounds_sentence(16)
    )


def test_two_seeds_have_one_median_in_the_chart_and_in_the_sentence() -> None:
    """For an even count the chart takes the middle of logarithms: of .01 and 1 it draws .1, not .505."""

    class Seed:
        def __init__(self, size: float) -> None:
            self.act_rms, self.grad_rms = np.array([[1.0, size]]), np.ones((1, 2))

        def __len__(self) -> int:
            return 1

    assert "is 0.1 (A)" in signal_sentence({"A": [Seed(0.01), Seed(1.0)]}, 0)  # type: ignore[list-item]


def test_a_cosine_that_is_none_decides_no_lesson() -> None:
    """The bounds of searchsorted would put it last, as if it were the largest."""
    cfg = RunConfig(depth=1, width=8, batch=8, steps=1, device="cpu")
    trace = profile_at_init(cfg)
    asked = {"net": "a", "measure": "sample cosine", "bounds": (0.5,), "options": ("apart", "alike")}
    assert number_of_a_net.function({"a": trace}, **asked).answer in ("apart", "alike")
    assert number_of_a_net.function({"a": replace(trace, frames=())}, **asked).answer == OTHERWISE


def test_a_size_or_loss_that_is_nan_decides_no_lesson() -> None:
    trace = profile_at_init(RunConfig(depth=1, width=8, batch=8, steps=1, device="cpu"))
    bounds: dict[str, Any] = {"net": "a", "bounds": (10.0,), "options": ("level", "changes")}
    for measure, field in (("signal", "act_rms"), ("gradient", "grad_rms")):
        gone = {"a": replace(trace, **{field: np.full_like(getattr(trace, field), np.nan)})}
        assert size_over_depth.function({"a": trace}, measure=measure, **bounds).answer in bounds["options"]
        assert size_over_depth.function(gone, measure=measure, **bounds).answer == OTHERWISE
    options = {"both": ["a", "b"], "only b": ["b"], "neither": []}
    nets = {"a": replace(trace, loss=np.full(1, np.nan)), "b": trace}
    assert which_learn.function(nets, options=options).answer == OTHERWISE
    for accuracy, answer in ((np.nan, OTHERWISE), (0.5, "neither")):
        frame = replace(trace.frames[0], held_out_accuracy=accuracy)
        assert (
            which_learn.function({"a": replace(trace, frames=(frame,))}, options=options, accuracy=0.9).answer == answer
        )
