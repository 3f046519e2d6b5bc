"""Noise of the gradient, gates, gains and Adam's state, against per-sample gradients, known noise and numpy."""

from itertools import product

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

from components.charts.colour import NORM
from exhibits.instruments.health.measure import adam_state, gates_and_gains, health
from exhibits.instruments.health.numbers import last_update, noise_sentence, update_sentence
from exhibits.instruments.health.page import by_block, signal_chart, spread_chart, update_chart
from models.spec import ARRANGEMENTS, RunConfig
from models.trace import Columns, Frame, trace_of
from models.training import Replays, Run, result_of
from tests.app_page import charts, sound, trained, words
from tests.drawn import all_drawn
from tests.instruments.nets import DIVERGES, NETS, opened, still_at

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

TINY = {"depth": 2, "width": 16, "batch": 8, "steps": 10, "device": "cpu"}


def measured(snapshot, **args):
    return result_of(health(snapshot, **args)).noise


def per_sample_gradients(snapshot):
    """The gradient of every sample of the batch, in float64, by vmap: parameter -> (B, ...)."""
    model, (x, y) = snapshot.copy().double(), snapshot.batch()
    x = x.double() if x.is_floating_point() else x

    def loss(parameters, x_TF, y_T):
        return cross_entropy(functional_call(model, parameters, (x_TF[None],))[0], y_T, ignore_index=-100)

    parameters = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    return {name: g.numpy() for name, g in vmap(grad(loss), (None, 0, 0))(parameters, x, y).items()}


def rows(gradients, prefix, parts):
    """The mean gradients of `parts` micro-batches, one row each, of all parameters with that prefix."""
    own = [g.reshape(len(g), -1) for name, g in gradients.items() if name.startswith(prefix)]
    whole = np.concatenate(own, axis=1)
    return whole.reshape(parts, -1, whole.shape[1]).mean(1)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("parts", [2, 4, 8])
@pytest.mark.parametrize("net", NETS)
def test_signal_and_noise_are_those_of_per_sample_gradients(net, parts):
    snapshot = still_at(RunConfig.arranged("pre-norm", **TINY, **NETS[net]), 3)
    found, gradients = measured(snapshot, parts=parts), per_sample_gradients(snapshot)
    assert (found.parts, found.part_size) == (parts, 8 // parts)
    for at in range(2):
        g = rows(gradients, f"stream.blocks.b{at + 1:02d}.", parts)
        noise = np.trace(np.cov(g.T))
        assert found.noise[at] == pytest.approx(noise, rel=1e-3)
        signal = (g.mean(0) ** 2).sum() - noise / parts
        assert found.signal[at] == pytest.approx(signal, rel=1e-3, abs=1e-3 * noise)
        assert found.snr[at] == pytest.approx(found.signal[at] / found.noise[at])
    g = rows(gradients, "", parts)
    noise = np.trace(np.cov(g.T))
    # Of a micro-batch of m samples the covariance is a sample's divided by m.
    assert found.noise_trace == pytest.approx(noise * 8 / parts, rel=1e-3)
    assert found.gradient_square == pytest.approx((g.mean(0) ** 2).sum() - noise / parts, rel=1e-3, abs=1e-3 * noise)


def test_equal_samples_have_no_noise_and_a_signal_without_bound():
    snapshot = still_at(RunConfig(**TINY))
    x, y = snapshot.batch()
    same = type("Same", (), {"batch": lambda self, step: (x[:1].repeat(8, 1, 1), y[:1].repeat(8, 1))})()
    found = measured(type(snapshot)(snapshot.cfg, snapshot.step, snapshot.model, same, {}))
    assert found.noise_trace == pytest.approx(0, abs=1e-6 * found.gradient_square)
    assert (found.snr > 1e6).all()


def test_a_batch_that_does_not_divide_leaves_the_rest_out():
    found = measured(still_at(RunConfig(**TINY | {"batch": 11})), parts=4)
    assert (found.parts, found.part_size) == (4, 2)


@pytest.mark.parametrize(("batch", "parts"), [(8, 0), (15, 0), (16, 2), (32, 4)])
def test_batch_norm_is_only_split_into_parts_that_have_statistics(batch, parts):
    found = measured(still_at(RunConfig(**TINY | {"batch": batch}, norm="batch norm")))
    assert (found.parts, found.batch_norm) == (parts, True)
    assert np.isfinite(found.snr).all() == bool(parts)


def test_one_sample_has_no_noise_to_measure():
    found = measured(still_at(RunConfig(**TINY | {"batch": 1})))
    assert found.parts == 0
    assert np.isnan(found.snr).all()
    assert np.isnan(found.noise_trace)


@pytest.mark.parametrize("parts", [1, 513])
def test_a_number_of_parts_that_no_batch_has_is_refused(parts):
    with pytest.raises(ValueError, match=f"parts is {parts}; legal is a whole number from 2 to 512"):
        measured(still_at(RunConfig(**TINY)), parts=parts)


@pytest.mark.parametrize(("arrangement", "net"), list(product(ARRANGEMENTS, NETS)))
@pytest.mark.full
def test_signal_and_noise_of_every_arrangement_add_up_to_the_gradient_of_the_log(arrangement, net):
    cfg = RunConfig.arranged(arrangement, **TINY, **NETS[net])
    snapshot = still_at(cfg, 2)
    found, gained = measured(snapshot), gates_and_gains(snapshot.model)
    run = Run(cfg)
    run.advance(3)
    whole = run.trace().grad_norm[2] ** 2
    assert found.gradient_square + found.noise_trace / cfg.batch == pytest.approx(whole, rel=1e-3)
    assert (found.noise > 0).all()
    assert found.snr.shape == (2,)
    gated = arrangement in ("ReZero", "LayerScale")
    assert np.isnan(gained.gates).all() == (not gated)
    assert (len(gained.gains) > 0) == (cfg.norm != "none")
    assert len(gained.gains) == len(gained.gain_names)


@pytest.mark.parametrize(
    "other",
    [
        {"norm": "dynamic tanh"},
        {"norm": "dynamic erf"},
        {"norm": "none"},
        {"residual": False},
        {"affine": False},
        {"overrides": ((1, "identity", True),)},
        {"layers_per_branch": 1},
    ],
    ids=str,
)
def test_other_parts_are_measured_too(other):
    snapshot = still_at(RunConfig(**TINY | other), 2)
    found, gained = measured(snapshot), gates_and_gains(snapshot.model)
    gone = "overrides" in other
    assert np.isnan(found.snr).tolist() == [gone, False]
    assert np.isfinite(found.noise_trace)
    assert (len(gained.slopes) > 0) == (other.get("norm") in ("dynamic tanh", "dynamic erf"))
    assert (len(gained.gains) == 0) == (other.get("norm") == "none" or "affine" in other)


def test_scalars_move_and_are_the_numbers_in_the_net():
    cfg = RunConfig(stack="learned scalars", **TINY)
    at_start, later = (still_at(cfg, step).model for step in (0, 3))
    assert gates_and_gains(at_start).scalars.tolist() == [[1, 0], [1, 0]]
    found = gates_and_gains(later).scalars
    assert (found != [1, 0]).all()
    assert found[1].tolist() == [later.stream.scalars[1].resid_lambda.item(), later.stream.scalars[1].x0_lambda.item()]
    assert gates_and_gains(still_at(RunConfig(**TINY)).model).scalars.shape == (0, 2)


def test_gates_and_gains_are_the_numbers_in_the_net():
    cfg = RunConfig.arranged("LayerScale", norm="dynamic tanh", **TINY)
    model = still_at(cfg).model
    sublayer = model.stream.blocks["b02"]["mlp"]
    with torch.no_grad():
        sublayer.scale.gate.copy_(torch.arange(16.0) - 4)
        sublayer.norm_in.weight.copy_(torch.linspace(-1, 2, 16))
        sublayer.norm_in.alpha.fill_(0.75)
    gained = gates_and_gains(model)
    assert gained.gates[1].tolist() == [3.5, -4.0, 11.0]
    at = gained.gain_names.index("b02.mlp.norm_in")
    np.testing.assert_allclose(gained.gains[at], [0.5, -1.0, 2.0], rtol=1e-6)
    assert gained.gain_names == ("b01.mlp.norm_in", "b02.mlp.norm_in", "final_norm")
    assert gained.slopes[gained.slope_names.index("b02.mlp.norm_in")] == 0.75
    both = by_block(
        ("b01", "b02", "b03"),
        ["b01.attn.norm_in", "b01.ffn.norm_in", "b02.ffn.norm_in", "final_norm"],
        np.array([[1.0, 0.5, 2.0], [2.0, 1.0, 4.0], [3.0, 3.0, 3.0], [9.0, 9.0, 9.0]]),
    )
    np.testing.assert_array_equal(both, [[1.5, 0.5, 4.0], [3.0, 3.0, 3.0], [np.nan] * 3])


def test_the_first_update_of_adam_is_the_learning_rate_everywhere():
    found = adam_state(still_at(RunConfig(**TINY, optimizer="adam", lr=1e-3, activation="tanh"), 1))
    np.testing.assert_allclose(found.ratio, 1, rtol=1e-5)
    assert (found.near > 0.99).all()  # gradients below the eps of Adam aside


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_the_state_of_adam_is_the_recursion_over_all_gradients(optimizer):
    cfg = RunConfig(**TINY, optimizer=optimizer, lr=1e-3, activation="tanh", weight_decay=0.1)
    m, v, replays = 0.0, 0.0, Replays()
    for step in range(4):
        snapshot = result_of(replays.snapshot(cfg, step))
        x, y = snapshot.batch()
        cross_entropy(snapshot.model(x).flatten(0, 1), y.flatten()).backward()
        g = np.concatenate([p.grad.double().numpy().ravel() for p in snapshot.model.stream.blocks["b02"].parameters()])
        g = g + (0.1 * _weights(snapshot) if optimizer == "adam" else 0)  # Adam's decay is a part of the gradient
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    m, v = m / (1 - 0.9**4), v / (1 - 0.999**4)
    found = adam_state(result_of(replays.snapshot(cfg, 4)))
    assert found.ratio[1] == pytest.approx(np.sqrt((m**2).mean() / v.mean()), rel=1e-4)
    assert found.near[1] == pytest.approx((abs(abs(m) / (np.sqrt(v) + 1e-8) - 1) <= 0.1).mean(), abs=0.005)
    assert 0.05 < found.near[1] < 0.95


def _weights(snapshot):
    """The weights of block 2 in the order of its parameters, 0 for what decay leaves alone."""
    parameters = snapshot.model.stream.blocks["b02"].parameters()
    return np.concatenate(
        [(p.detach().double().numpy() if p.ndim > 1 else np.zeros(p.shape)).ravel() for p in parameters]
    )


@pytest.mark.parametrize(("optimizer", "step"), [("momentum", 3), ("sgd", 3), ("muon", 3), ("adam", 0)])
def test_without_an_update_by_adam_there_is_no_state(optimizer, step):
    assert adam_state(still_at(RunConfig(**TINY, optimizer=optimizer), step)) is None


def test_a_run_that_diverged_has_no_finite_noise_and_says_so():
    cfg = RunConfig(**TINY | DIVERGES)
    found = measured(still_at(cfg, 40))
    assert not np.isfinite(found.noise_trace)
    assert noise_sentence(8, found.parts, found.gradient_square, found.noise_trace) == "The gradient is not finite."


def test_the_sentences_judge_by_their_numbers():
    assert "mostly noise" in noise_sentence(64, 8, 1.0, 640.0)
    assert "change little" in noise_sentence(64, 8, 1.0, 6.0)
    assert "balanced" in noise_sentence(64, 8, 1.0, 64.0)
    assert "told from its noise" in noise_sentence(64, 8, -1.0, 64.0)
    assert "exactly 0" in noise_sentence(64, 8, 0.0, 0.0)
    assert "too small" in noise_sentence(1, 0, np.nan, np.nan)


def test_adams_first_update_is_smaller_where_the_gradient_is_below_its_eps():
    run = Run(
        RunConfig.arranged("plain", depth=48, width=32, batch=32, steps=10, device="cpu", optimizer="adam", lr=1e-3)
    )
    run.advance(1)
    assert run.trace().weight_grad_rms[0].max() < 1e-8
    assert run.frames[0].update_to_weight.max() < 0.002


def updated(sizes, gradient=(1.0, 1.0, 1.0)):
    """A log of two rows whose first update changed its two blocks by these sizes."""
    columns = Columns(("x0", "b01", "b02"), ("b01", "b02"), 2)
    rows = np.ones((10, columns.width), np.float32)
    rows[:, columns.slices["grad_rms"]] = gradient
    blank = np.full(3, 0.1)
    return trace_of(columns, rows, [Frame(8, blank, np.array(sizes, np.float32), 1.0, 0.5)])


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((9e-4, 2e-3), "by 0.0009 (block 1) to 0.002 (block 2) of their size: about the usual 0.001."),
        ((4.6e-9, 7.2e-5), "by 4.6·10⁻⁹ (block 1) to 0.000072 (block 2) of their size: some next to nothing."),
        ((1e-7, 5e-8), "by 5·10⁻⁸ (block 2) to 10⁻⁷ (block 1) of their size: next to nothing."),
        ((1e-3, 2e-2), "by 0.001 (block 1) to 0.02 (block 2) of their size."),
        ((1e-3, 0.4), "by 0.001 (block 1) to 0.4 (block 2) of their size: more than 30%."),
        ((np.nan, 1e-3), "by 0.001 of their size: about the usual 0.001."),
        ((np.inf, 1.0), "is not finite."),
    ],
)
def test_the_least_update_is_named_too_and_called_usual_only_near_the_usual(sizes, words):
    said = update_sentence(updated(sizes), 9)
    assert said.startswith("The update of step 8 ")
    assert said.endswith(words)


@pytest.mark.parametrize(("width", "lr", "share"), [(64, 1e-3, 0.008), (256, 1e-3, 0.016), (64, 3e-3, 0.024)])
def test_adams_first_update_is_one_to_a_few_per_cent(width, lr, share):
    """Every weight moves by the rate, and a weight of a fan-in matrix is one over the root of the width."""
    run = Run(RunConfig(depth=2, width=width, batch=32, steps=10, device="cpu", optimizer="adam", lr=lr))
    run.advance(1)
    assert run.frames[0].update_to_weight == pytest.approx(share, rel=0.15)


def test_the_last_update_is_that_of_the_last_frame_that_measured_one():
    cfg = RunConfig(**TINY)
    run = Run(cfg)
    run.advance(10)
    trace = run.trace()
    assert np.isnan(trace.frames[-1].update_to_weight).all()  # nothing was updated after the end
    assert last_update(trace, 9)[0] == 8
    assert last_update(trace, 3)[0] == 2
    assert last_update(run.trace().__class__(**vars(trace) | {"frames": ()}), 9) is None


def test_plotly_accepts_the_charts_and_nothing_is_dropped():
    blocks = ("b01", "b02", "b03", "b04")
    updates = update_chart("t", blocks, np.array([1e-3, 0.5, np.inf, 0.0]))
    signal = signal_chart("t", blocks, np.array([2.0, -0.5, 0.0, np.nan]))
    spread = spread_chart("t", "gain", ["b01", "b02"], np.array([[1.0, 0.5, 2.0], [np.nan] * 3]), 1.0, hue=NORM)
    empty = [update_chart("t", blocks, np.empty(0)), spread_chart("t", "gain", [], np.empty((0, 3)), 1.0, hue=NORM)]
    updates, signal, spread, *empty = all_drawn([updates, signal, spread, *empty])
    assert all(figure["data"] == [] and figure["layout"]["annotations"] for figure in empty)
    found = {trace["name"]: trace for trace in updates["data"]}
    assert found["above 30%"]["x"] == [1]
    assert (found["exactly 0"]["x"], found["not finite"]["x"]) == ([3], [2])
    lost = {trace["name"]: trace for trace in signal["data"]}
    assert (lost["not above the noise"]["x"], lost["not above the noise"]["customdata"]) == ([1, 2], ["-0.5", "0"])
    assert lost["not finite"]["x"] == [3]


def test_the_panel_shows_updates_noise_gains_and_adam():
    page = opened("Health", optimizer="adam", lr="0.001", branch_scale="zero gate", stack="learned scalars")
    assert "No update has been measured yet." in words(page)
    assert "The gradient noise scale" in words(page) or "told from its noise" in words(page)
    assert not {"Update to weight by block", "Adam's state by block"} & charts(page).keys()  # nothing to draw yet
    trained(page)
    sound(page.run())
    assert "The update of step 32 changed" in words(page)
    assert {
        "Update to weight by block",
        "Learned gate by branch",
        "Learned scalars by block",
        "Norm gains by block",
        "Adam's state by block",
    } <= charts(page).keys()
