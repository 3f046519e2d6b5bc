"""Signal and gradient at initialisation, as measured, and the gain that keeps the mean square.

That the measurement follows the laws is in tests/instruments/test_formula.py.
"""

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


def arranged(name: str, **fields) -> RunConfig:
    return RunConfig.arranged(name, **({"depth": L, "width": WIDTH} | fields))


def mean_square(signal: Signal) -> np.ndarray:
    """A_l by site, the geometric mean over the seeds."""
    return np.exp(np.log(signal.mean_square).mean(0))


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize(
    ("name", "fields"), [("ReZero", {}), ("residual only", {"init": "zero last"}), ("pre-norm", {"init": "zero last"})]
)
def test_branches_that_start_at_zero_leave_signal_and_gradient_exactly_alone(name, fields, net):
    signal = traces.signal(arranged(name, net=net, width=64, **fields), seeds=SEEDS)
    assert (signal.mean_square == signal.mean_square[:, :1]).all()
    assert (signal.grad_norm == signal.grad_norm[:, :1]).all()


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
