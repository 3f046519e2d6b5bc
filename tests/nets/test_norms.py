"""The norms: formulas, statistics, and where eps goes."""

import math

import pytest
import torch
import torch.nn.functional as F

from models.nets import NORMS, build_norm
from models.spec import vocabulary
from tests import hand

REAL_NORMS = [name for name in NORMS if name != "none"]


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
def test_affine_off_leaves_the_bare_norm_and_nothing_to_learn_but_what_is_inside(name):
    norm = build_norm(name, 8, hand.EPS, affine=False).double()
    learned = [key for key, parameter in norm.named_parameters() if parameter.requires_grad]
    assert learned == {"dynamic tanh": ["alpha"], "dynamic erf": ["alpha", "shift"]}.get(name, [])
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


def test_dynamic_tanh_starts_with_slope_one_half_and_knows_no_statistics():
    norm = build_norm("dynamic tanh", 8).double()
    x = hand.stream_of()
    hand.assert_close(norm(x), hand.tanh(0.5 * x))
    hand.assert_close(norm(x)[1:, 2:], norm(x[1:, 2:]))
    assert norm.alpha.requires_grad


def test_dynamic_erf_starts_as_its_authors_code():
    """Slope 0.5, shift 0, gain 1 and bias 0 of ViT/dynamic_erf.py, by the error function of another library."""
    norm, x = build_norm("dynamic erf", 8).double(), hand.stream_of()
    hand.assert_close(norm(x), x.clone().apply_(lambda one: math.erf(0.5 * one)))
    with torch.no_grad():
        norm.shift.fill_(-0.3)
    hand.assert_close(norm(x), x.clone().apply_(lambda one: math.erf(0.5 * one - 0.3)))


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
