"""The closed-form laws of signal and gradient at initialisation, against six seeds of the real nets.

A_l is the mean square of the stream after sublayer l, G_l the length of the gradient there. With two layers per branch,
relu and fan-in weights a branch passes on v = E relu(z)^2 = 1/2 of the mean square that it is fed, forward and back.
Rows are averaged in log space: products of random factors are log-normal. Every tolerance is about three times the
spread that a mean of six seeds was measured to have at that width.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from models.insight import signal_at_init
from models.insight.signal import Signal
from models.insight.theory import preserving_init_gain
from models.spec import NETS, NORMS, RunConfig, plan
from tests import hand, traces

SEEDS = tuple(range(6))
L, WIDTH = 16, 256
V = 0.5


def arranged(name: str, **fields) -> RunConfig:
    return RunConfig.arranged(name, **({"depth": L, "width": WIDTH} | fields))


def mean_square(signal: Signal) -> np.ndarray:
    """A_l by site, the geometric mean over the seeds."""
    return np.exp(np.log(signal.mean_square).mean(0))


def gradient(signal: Signal) -> np.ndarray:
    """G_l / G_L by site, the geometric mean over the seeds."""
    grad = np.log(signal.grad_norm)
    return np.exp((grad - grad[:, -1:]).mean(0))


def harmonic(count: int) -> float:
    return sum(1 / k for k in range(1, count + 1))


# arrangement, fields, A_L, tolerance, G_0 / G_L, tolerance
HALF = {"skip_scale": "1/sqrt(2)", "branch_scale": "1/sqrt(2)"}
OVER_DEPTH = {"parametrization": "muP + 1/depth"}  # counted from 2 blocks
POST_BLOCKS = math.ceil(L / 4)
LAWS: dict[str, tuple[str, dict, float, float, float, float]] = {
    "plain": ("plain", {}, V**L, 0.6, V ** (L / 2), 0.2),
    "residual only": ("residual only", {}, (1 + V) ** L, 0.3, (1 + V) ** (L / 2), 0.05),
    "sum over root two": ("residual only", HALF, ((1 + V) / 2) ** L, 0.3, ((1 + V) / 2) ** (L / 2), 0.05),
    "over depth": (
        "residual only",
        OVER_DEPTH,
        (1 + V * (2 / L) ** 2) ** L,
        0.03,
        (1 + V * (2 / L) ** 2) ** (L / 2),
        0.03,
    ),
    # Dropping numbers at a rate p divides the mean square, forward and back, by 1 - p.
    "branch dropout": ("residual only", {"branch_dropout": 0.5}, (1 + 2 * V) ** L, 0.4, (1 + 2 * V) ** (L / 2), 0.1),
    "stream dropout": ("plain", {"stream_dropout": 0.2}, (V / 0.8) ** L, 0.6, (V / 0.8) ** (L / 2), 0.2),
    "post-norm": ("post-norm", {}, 1, 1e-4, 1, 0.15),
    "scaled skip": ("scaled skip", {}, 1, 1e-4, 1, 0.1),
    "pre-norm": ("pre-norm", {}, 1 + V * L, 0.1, math.sqrt(1 + V * L), 0.05),
    "GPT-2 init": ("pre-norm + GPT-2 init", {}, 1 + V, 0.03, math.sqrt(1 + V), 0.03),
    "LayerNorm scaling": ("LayerNorm scaling", {}, 1 + V * harmonic(L), 0.05, math.sqrt(1 + V * harmonic(L)), 0.03),
    "LayerScale": ("LayerScale", {}, 1 + 0.01 * V * L, 0.01, math.sqrt(1 + 0.01 * V * L), 0.01),
    "sandwich": ("sandwich", {}, 1 + L, 0.1, math.sqrt(1 + L), 0.06),
    "sandwich, large weights": ("sandwich", {"init_gain": 4.0}, 1 + L, 0.1, math.sqrt(1 + L), 0.06),
    "res-post-norm": ("res-post-norm", {}, 1 + L, 0.1, math.sqrt(1 + L), 0.06),
    "res-post-norm, small weights": ("res-post-norm", {"init_gain": 0.3}, 1 + L, 0.1, math.sqrt(1 + L), 0.06),
    # Its constants keep both at 1 up to O(1/sqrt(L)); and O(1/L) for Keel.
    "DeepNorm": ("DeepNorm", {}, 1, 1e-4, 1, 0.02),
    "Keel": ("Keel", {}, 1, 1e-4, 1, 0.02),
    "Mix-LN": (
        "Mix-LN",
        {},
        1 + V * (L - POST_BLOCKS),
        0.12,
        math.sqrt(1 + V * (L - POST_BLOCKS)),
        0.07,
    ),
    # The norm inside resets the size in every block: forward v, backward v over the mean square that came in.
    "plain + norm": ("plain + norm", {}, V, 0.15, math.sqrt(V), 0.25),
}


@pytest.mark.parametrize("law", LAWS)
def test_an_arrangement_follows_its_law(law):
    name, fields, end, end_tolerance, ratio, ratio_tolerance = LAWS[law]
    signal = traces.signal(arranged(name, **fields), seeds=SEEDS)
    assert mean_square(signal)[-1] == pytest.approx(end, rel=end_tolerance)
    assert gradient(signal)[0] == pytest.approx(ratio, rel=ratio_tolerance)


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize(
    ("name", "fields"), [("ReZero", {}), ("residual only", {"init": "zero last"}), ("pre-norm", {"init": "zero last"})]
)
def test_branches_that_start_at_zero_leave_signal_and_gradient_exactly_alone(name, fields, net):
    signal = traces.signal(arranged(name, net=net, width=64, **fields), seeds=SEEDS)
    assert (signal.mean_square == signal.mean_square[:, :1]).all()
    assert (signal.grad_norm == signal.grad_norm[:, :1]).all()


def test_pre_norm_follows_its_law_at_every_point_of_the_stream():
    """A grows by v per block, the gradient falls like 1 / RMS of the stream: all the way, not at the end alone."""
    signal = traces.signal(arranged("pre-norm"), seeds=SEEDS)
    block = np.arange(L + 1)
    np.testing.assert_allclose(mean_square(signal), 1 + V * block, rtol=0.1)
    np.testing.assert_allclose(gradient(signal), np.sqrt((1 + V * L) / (1 + V * block)), rtol=0.05)


def test_sandwich_adds_one_per_sublayer_in_a_transformer_too():
    """Tokens of one sequence share what attention adds, so there is more chance in it than in an MLP."""
    signal = traces.signal(arranged("sandwich", net="transformer", depth=8, width=128), seeds=SEEDS)
    np.testing.assert_allclose(mean_square(signal), 1 + np.arange(17), rtol=0.15)


# --- v of a branch by its initialisation ---

D = WIDTH
GAINS = {
    ("fan-in", 1): 0.5,
    ("fan-in", 4): 0.5,
    ("xavier", 1): 0.5,
    ("xavier", 4): 0.5 * 4 * (2 / 5) ** 2,
    ("torch", 4): 1 / 18,
    ("he", 1): 2.0,
    ("normal 0.02", 4): 0.5 * 4 * D**2 * (4e-4) ** 2,
}


@pytest.mark.parametrize(("init", "expansion"), GAINS)
def test_a_branch_passes_on_what_its_initialisation_says(init, expansion):
    cfg = arranged("plain", depth=1, init=init, expansion=expansion)
    assert mean_square(traces.signal(cfg, seeds=SEEDS))[-1] == pytest.approx(GAINS[init, expansion], rel=0.1)


# --- other activations and one layer: Gaussian averages instead of 1/2 ---

Z = np.linspace(-12, 12, 24001)
WEIGHT = np.exp(-(Z**2) / 2) / np.exp(-(Z**2) / 2).sum()
BELOW = np.cumsum(WEIGHT)  # the Gaussian chance of being below z

Curve = Callable[[np.ndarray], np.ndarray]
ACTIVATIONS: dict[str, Curve] = {
    "relu": lambda z: np.maximum(z, 0),
    "gelu": lambda z: z * np.interp(z, Z, BELOW),
    "silu": lambda z: z / (1 + np.exp(-z)),
    "tanh": np.tanh,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "identity": lambda z: z,
}


def gauss(values: np.ndarray) -> float:
    """The mean over a standard normal number, from the values on the grid Z."""
    return float((values * WEIGHT).sum())


def moments(activation: str, scale: float = 1.0) -> tuple[float, float, float]:
    """E act, Var act and E act'^2 of act(scale z)."""
    values = ACTIVATIONS[activation](scale * Z)
    slope = np.gradient(values, scale * Z)
    mean = gauss(values)
    return mean, gauss(values**2) - mean**2, gauss(slope**2)


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        ("relu", (0.3989, 0.3408, 0.5)),
        ("gelu", (0.2821, 0.3456, 0.4559)),
        ("silu", (0.2066, 0.3131, 0.3795)),
        ("tanh", (0.0, 0.3943, 0.4644)),
        ("sigmoid", (0.5, 0.0434, 0.0448)),
    ],
)
def test_the_gaussian_averages_here_are_those_of_the_literature(activation, expected):
    np.testing.assert_allclose(moments(activation), expected, atol=2e-4)


@pytest.mark.parametrize("activation", ["relu", "gelu", "tanh", "sigmoid"])
def test_one_layer_pre_norm_grows_by_its_mean_too(activation):
    """The mean of the activation adds up coherently: A_L = 1 + L Var + (L E)^2."""
    mean, variance, slope = moments(activation)
    signal = traces.signal(arranged("pre-norm", width=128, layers_per_branch=1, activation=activation), seeds=SEEDS)
    assert mean_square(signal)[-1] == pytest.approx(1 + L * variance + (L * mean) ** 2, rel=0.05)
    assert gradient(signal)[0] == pytest.approx((1 + L * variance) ** (slope / (2 * variance)), rel=0.12)


@pytest.mark.parametrize("activation", ["relu", "gelu", "tanh", "sigmoid"])
def test_one_layer_post_norm_multiplies_the_gradient_in_every_block(activation):
    _, variance, slope = moments(activation)
    signal = traces.signal(arranged("post-norm", width=128, layers_per_branch=1, activation=activation), seeds=SEEDS)
    assert gradient(signal)[0] == pytest.approx(((1 + slope) / (1 + variance)) ** (L / 2), rel=0.1)


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_one_layer_without_a_norm_follows_the_mean_and_the_variance_of_its_stream(activation):
    mean, variance = 0.0, 1.0
    for _ in range(L):
        own_mean, own_variance, _ = moments(activation, math.sqrt(mean**2 + variance))
        mean, variance = mean + own_mean, variance + own_variance
    signal = traces.signal(arranged("residual only", layers_per_branch=1, activation=activation), seeds=SEEDS)
    assert mean_square(signal)[-1] == pytest.approx(mean**2 + variance, rel=0.3)


@pytest.mark.parametrize("activation", ["gelu", "silu", "tanh", "sigmoid", "identity"])
def test_two_layers_without_a_norm_follow_the_mean_square_of_their_stream(activation):
    size = 1.0
    for _ in range(L):
        mean, variance, _ = moments(activation, math.sqrt(size))
        size += variance + mean**2
    signal = traces.signal(arranged("residual only", activation=activation), seeds=SEEDS)
    assert mean_square(signal)[-1] == pytest.approx(size, rel=0.3)


# --- the measurement itself ---


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("norm", NORMS)
def test_the_stream_is_fed_unit_mean_square_and_every_seed_has_its_row(net, norm):
    cfg = RunConfig(net=net, depth=2, width=16, norm=norm)
    signal = signal_at_init(cfg, seeds=(0, 3, 7), rows=64)
    assert signal.sites == plan(cfg).sites
    assert signal.mean_square.shape == signal.grad_norm.shape == (3, len(signal.sites))
    np.testing.assert_allclose(signal.mean_square[:, 0], 1, rtol=1e-5)
    assert len(set(signal.grad_norm[:, 0])) == 3
    again = signal_at_init(cfg, seeds=(7,), rows=64)
    assert again.mean_square.tobytes() == signal.mean_square[2:].tobytes()
    assert again.grad_norm.tobytes() == signal.grad_norm[2:].tobytes()


def test_the_signal_depends_on_the_net_and_not_on_how_it_is_trained():
    plain = signal_at_init(RunConfig(depth=2, width=16))
    other = signal_at_init(RunConfig(depth=2, width=16, batch=7, steps=2, lr=1.0, optimizer="adam", clip=0.1))
    assert plain.mean_square.tobytes() == other.mean_square.tobytes()
    assert plain.grad_norm.tobytes() == other.grad_norm.tobytes()


# --- the gain that keeps the mean square ---

KEEPING = {
    ("identity", 2, "fan-in"): 1.0,
    ("relu", 2, "fan-in"): 2**0.25,
    ("relu", 1, "fan-in"): 2**0.5,
    ("relu", 2, "he"): 0.5**0.25,
    ("relu", 1, "he"): 1.0,
    ("selu", 2, "fan-in"): 1.0,  # its fixed point
}


@pytest.mark.parametrize(("activation", "layers", "init"), KEEPING)
def test_the_gain_that_keeps_the_mean_square_is_the_closed_form_where_there_is_one(activation, layers, init):
    cfg = RunConfig(activation=activation, layers_per_branch=layers, init=init)
    assert preserving_init_gain(cfg) == pytest.approx(KEEPING[activation, layers, init], rel=1e-4)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "selu", "tanh", "sigmoid", "identity"])
def test_with_the_offered_gain_a_branch_passes_on_the_mean_square_of_random_numbers(activation):
    gain = preserving_init_gain(RunConfig(activation=activation))
    cfg = arranged("plain", depth=1, activation=activation, init_gain=gain)
    assert mean_square(traces.signal(cfg, seeds=SEEDS))[-1] == pytest.approx(1, rel=0.06)
    z = np.random.default_rng(0).standard_normal(400_000)
    values = torch.tensor(gain * z)
    act = hand.ACTIVATIONS[activation](values).numpy()
    assert gain**2 * (act**2).mean() == pytest.approx(1, rel=0.01)


def test_no_gain_is_offered_where_none_keeps_the_mean_square():
    assert preserving_init_gain(RunConfig(activation="tanh", layers_per_branch=1)) is None  # below 1 however large
    assert preserving_init_gain(RunConfig(init="zero last")) is None
    assert preserving_init_gain(RunConfig(norm="batch norm", placement="mid-norm")) is None
    assert preserving_init_gain(RunConfig(overrides=((1, "activation", "tanh"),))) is None
