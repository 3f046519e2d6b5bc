"""The norms: formulas, statistics, where eps goes, and the identities of their gradients."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from models.nets import NORMS, OneLayer, TwoLayers, build_norm
from models.spec import vocabulary
from tests import hand

REAL_NORMS = [name for name in NORMS if name != "none"]
PER_TOKEN = ["layer norm", "rms norm"]
TINY = 1e-30  # eps out of the way; batch norm of torch refuses 0

seeds = st.integers(0, 2**31)
widths = st.sampled_from([2, 3, 8, 33])
sizes = st.floats(-6, 6).map(lambda exponent: 10.0**exponent)


def random_norm(name: str, width: int = 8, eps: float = hand.EPS):
    return hand.randomise(build_norm(name, width, eps))


def drawn(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_is_its_formula(name):
    norm, x = random_norm(name), hand.stream_of()
    hand.assert_close(norm(x), hand.NORMS[name](x, norm, hand.EPS))


def test_torch_agrees_with_the_norms():
    x, eps = hand.stream_of(), hand.EPS
    layer, rms, batch = (random_norm(name) for name in ("layer norm", "rms norm", "batch norm"))
    hand.assert_close(layer(x), F.layer_norm(x, (8,), layer.weight, layer.bias, eps))
    hand.assert_close(rms(x), F.rms_norm(x, (8,), rms.weight, eps))
    channels_second = F.batch_norm(x.transpose(1, 2), None, None, batch.weight, batch.bias, training=True, eps=eps)
    hand.assert_close(batch(x), channels_second.transpose(1, 2))


@pytest.mark.parametrize("name", REAL_NORMS)
def test_affine_off_leaves_the_bare_norm_and_nothing_to_learn_but_the_slope_of_dynamic_tanh(name):
    norm = build_norm(name, 8, hand.EPS, affine=False).double()
    learned = [key for key, parameter in norm.named_parameters() if parameter.requires_grad]
    assert learned == (["alpha"] if name == "dynamic tanh" else [])
    ones = build_norm(name, 8, hand.EPS).double()
    hand.assert_close(norm(hand.stream_of()), ones(hand.stream_of()))


def test_eps_stands_inside_the_root_of_both_norms():
    """An input of std 3e-3 comes out of layer norm near 0.69 and not 1; one of RMS 1e-4 out of RMS norm near .0316."""
    small = drawn(0, 200, 1, 64)
    centred = small - small.mean(-1, keepdim=True)
    of_std = 3e-3 * centred / centred.square().mean(-1, keepdim=True).sqrt()
    of_rms = 1e-4 * small / small.square().mean(-1, keepdim=True).sqrt()
    for name, x, expected in (
        ("layer norm", of_std, math.sqrt(9e-6 / (9e-6 + 1e-5))),
        ("rms norm", of_rms, math.sqrt(1e-8 / (1e-8 + 1e-5))),
    ):
        found = build_norm(name, 64).double()(x).square().mean(-1).sqrt()
        hand.assert_close(found, torch.full_like(found, expected))


def test_rms_norm_neither_subtracts_the_mean_nor_keeps_it_as_its_entry_says():
    x = torch.tensor([[[3.0, 4.0, 5.0]]])
    found = build_norm("rms norm", 3, 0.0)(x)
    assert found.mean().item() == pytest.approx(4 / math.sqrt((9 + 16 + 25) / 3))  # 0.98, from a mean of 4
    assert found.square().mean().item() == pytest.approx(1)
    said = vocabulary.NORMS["rms norm"].description
    assert "to unit mean square" in said
    assert "does not subtract their mean" in said


def test_rms_norm_keeps_the_mean_direction_that_layer_norm_removes():
    x = torch.ones(1, 1, 8).double() * 3
    assert build_norm("layer norm", 8).double()(x).abs().max() == 0
    hand.assert_close(build_norm("rms norm", 8).double()(x), torch.ones(1, 1, 8).double(), 1e-5)


def test_dynamic_tanh_starts_with_slope_one_half_and_knows_no_statistics():
    norm = build_norm("dynamic tanh", 8).double()
    x = hand.stream_of()
    hand.assert_close(norm(x), hand.tanh(0.5 * x))
    hand.assert_close(norm(x)[1:, 2:], norm(x[1:, 2:]))
    assert norm.alpha.requires_grad


def test_batch_norm_takes_its_statistics_over_batch_and_tokens_per_feature():
    out = build_norm("batch norm", 8, 1e-12).double()(hand.stream_of())
    hand.assert_close(out.mean((0, 1)), torch.zeros(8).double())
    hand.assert_close(out.square().mean((0, 1)), torch.ones(8).double())
    assert out.mean((1, 2)).abs().max() > 1e-2


def test_running_statistics_after_k_steps_weigh_the_new_batch_by_a_tenth_and_are_unbiased():
    norm, x, k = build_norm("batch norm", 8).double(), hand.stream_of(), 7
    for _ in range(k):
        norm(x)
    mean = x.mean((0, 1))
    unbiased = ((x - mean) ** 2).sum((0, 1)) / (15 - 1)
    hand.assert_close(norm.running_mean, (1 - 0.9**k) * mean)
    hand.assert_close(norm.running_var, 0.9**k + (1 - 0.9**k) * unbiased)


def test_batch_norm_in_use_reads_the_running_statistics_and_leaves_them():
    norm = random_norm("batch norm")
    norm.running_mean.copy_(drawn(1, 8))
    norm.running_var.copy_(drawn(2, 8).square() + 0.1)
    mean, variance = norm.running_mean.clone(), norm.running_var.clone()
    norm.eval()
    x = hand.stream_of()
    hand.assert_close(norm(x), norm.weight * (x - mean) / (variance + hand.EPS).sqrt() + norm.bias)
    assert torch.equal(norm.running_mean, mean)
    assert torch.equal(norm.running_var, variance)
    hand.assert_close(norm(x[:1, :1]), norm(x)[:1, :1])  # one token is enough when it is in use


# --- properties ---


@given(seeds, widths, sizes)
def test_a_normed_token_has_mean_zero_and_no_feature_beyond_sqrt_d_minus_1(seed, width, size):
    """One feature can carry nearly everything, but no more: |x_i| <= sqrt(d - 1), and |x|^2 <= d."""
    x = size * drawn(seed, 2, 3, width) ** 5  # heavy tails come close to the bound
    out = build_norm("layer norm", width, TINY).double()(x)
    assert out.mean(-1).abs().max() < 1e-9
    assert out.abs().max() <= math.sqrt(width - 1) + 1e-9
    assert out.square().sum(-1).max() <= width + 1e-9


@given(seeds, widths, sizes, st.floats(-50, 50))
def test_layer_norm_forgets_scale_and_shift(seed, width, size, shift):
    norm = hand.randomise(build_norm("layer norm", width, TINY), seed % 1000)
    x = drawn(seed, 2, 3, width)
    hand.assert_close(norm(size * (x + shift)), norm(x), 1e-6 if width == 2 else 1e-8)


@given(seeds, widths, sizes)
def test_rms_norm_forgets_scale_but_not_shift(seed, width, size):
    norm = hand.randomise(build_norm("rms norm", width, TINY), seed % 1000)
    x = drawn(seed, 2, 3, width)
    hand.assert_close(norm(size * x), norm(x))
    assert not torch.allclose(norm(x + 5), norm(x))


def gradient(norm, x: torch.Tensor, seed: int) -> torch.Tensor:
    """The gradient at x of a random linear loss on the norm's output."""
    x.requires_grad_()
    out = norm(x)
    return torch.autograd.grad((out * drawn(seed + 1, *out.shape)).sum(), x)[0]


@given(seeds, widths.filter(lambda width: width > 2))
def test_layer_norms_gradient_has_no_mean_and_none_along_the_centred_input(seed, width):
    x = drawn(seed, 2, 3, width)
    g = gradient(hand.randomise(build_norm("layer norm", width, TINY), seed % 1000), x, seed)
    centred = (x - x.mean(-1, keepdim=True)).detach()
    size = g.norm(dim=-1)
    assert (g.sum(-1).abs() <= 1e-12 * size * width + 1e-12).all()
    assert ((g * centred).sum(-1).abs() <= 1e-12 * (size * centred.norm(dim=-1) + 1) * width).all()


@given(seeds, widths)
def test_rms_norms_gradient_has_nothing_along_the_input(seed, width):
    x = drawn(seed, 2, 3, width)
    g = gradient(hand.randomise(build_norm("rms norm", width, TINY), seed % 1000), x, seed)
    along = (g * x.detach()).sum(-1).abs()
    assert (along <= 1e-12 * (g.norm(dim=-1) * x.detach().norm(dim=-1) + 1) * width).all()


@given(seeds, widths)
def test_batch_norms_gradient_sums_to_zero_over_the_batch_and_has_nothing_along_the_feature(seed, width):
    x = drawn(seed, 4, 3, width)
    g = gradient(hand.randomise(build_norm("batch norm", width, TINY), seed % 1000), x, seed)
    assert (g.sum((0, 1)).abs() <= 1e-11 * (g.norm() + 1)).all()
    assert ((g * x.detach()).sum((0, 1)).abs() <= 1e-11 * (g.norm() * x.detach().norm() + 1)).all()


@given(seeds, st.sampled_from(["layer norm", "rms norm", "batch norm"]), st.sampled_from(["one layer", "two layers"]))
def test_a_matrix_right_before_a_norm_has_no_gradient_along_itself(seed, name, branch):
    """<W, dW> = 0: plain SGD can only lengthen W. The biases of a branch are zero at the start."""
    norm_mid = hand.randomise(build_norm(name, 8, TINY), seed % 1000)
    function = OneLayer(8, "gelu", norm_mid) if branch == "one layer" else TwoLayers(8, 8, "gelu", norm_mid)
    function.double()
    before = function.w if branch == "one layer" else function.w1
    before.bias.data.zero_()
    (function(drawn(seed, 4, 3, 8)) * drawn(seed + 1, 4, 3, 8)).sum().backward()
    along = (before.weight * before.weight.grad).sum().abs()
    assert along <= 1e-11 * (before.weight.norm() * before.weight.grad.norm() + 1)
    assert before.weight.grad.norm() > 1e-3
    if branch == "two layers":
        assert (function.w2.weight * function.w2.weight.grad).sum().abs() > 1e-9


@pytest.mark.parametrize("name", PER_TOKEN)
def test_eps_breaks_the_identity_so_the_identity_can_fail(name):
    x = drawn(3, 2, 3, 8)
    g = gradient(build_norm(name, 8, 1.0).double(), x, 3)
    centred = x - x.mean(-1, keepdim=True) if name == "layer norm" else x
    assert (g * centred.detach()).sum(-1).abs().min() > 1e-6
