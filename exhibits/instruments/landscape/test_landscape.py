"""Slice, sharpness and Jacobian, against numpy's eigenvalues, finite differences, and iterations worked out by hand."""

import math
from itertools import product

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils import parameters_to_vector

from exhibits.instruments.landscape import measure
from exhibits.instruments.landscape import page as panel
from exhibits.instruments.landscape.measure import landscape, sharpness, stream_jacobian
from exhibits.instruments.landscape.numbers import (
    count_minima,
    edge_sentence,
    jacobian_sentence,
    sharpness_sentence,
    slice_sentence,
    stability_edge,
)
from exhibits.instruments.landscape.page import slice_map
from models.instruments import curvature
from models.instruments.curvature import hessian_products, largest_eigenvalue
from models.instruments.landscape import direction
from models.nets import build_model
from models.spec import RunConfig
from models.training import Replays, Run, result_of
from tests.app_page import charts, press, words
from tests.arrangements import PAIRS, in_turn
from tests.drawn import drawn
from tests.instruments.nets import NETS, PARTS, opened
from tests.tables import table_of

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

TINY = {"depth": 2, "width": 8, "batch": 8, "steps": 10, "device": "cpu"}
SMOOTH = TINY | {"activation": "tanh"}
EVERY = [RunConfig.arranged(name, **SMOOTH, **NETS[net]) for name, net in PAIRS]
EVERY += [RunConfig(**SMOOTH | net | other) for net, other in product(NETS.values(), PARTS)]
DIVERGES = TINY | {"lr": 10.0, "placement": "none", "init_gain": 10.0, "depth": 8, "steps": 40}


def name_of(cfg):
    return " ".join(f"{key}={value}" for key, value in cfg.to_query().items() if key not in TINY)


def still_at(cfg, step=3):
    return result_of(Replays().snapshot(cfg, step))


@pytest.fixture
def few_cells(monkeypatch):
    """A slice of nine cells, which is not offered on the page."""
    # The package has a function of that name.
    monkeypatch.setattr(measure, "CELLS", (3,))


# --- the slice ---


def test_directions_have_the_nets_row_lengths():
    model = build_model(RunConfig(**TINY))
    matrices = {name: p.detach().numpy() for name, p in model.named_parameters() if p.ndim == 2}
    with torch.no_grad():
        model.stream.blocks["b01"]["mlp"].function.w1.weight[3] = 0
    d, e = (direction(model, 7, which) for which in ("d", "e"))
    assert len(d) == len(matrices)
    for found, other, own in zip(d, e, matrices.values(), strict=True):
        lengths = [math.sqrt(sum(x * x for x in row)) for row in own.tolist()]
        np.testing.assert_allclose(np.sqrt((found.numpy() ** 2).sum(1)), lengths, rtol=1e-5)
        assert np.abs(found.numpy() - other.numpy()).max() > 0
    again = direction(model, 7, "d")
    assert all(torch.equal(one, two) for one, two in zip(d, again, strict=True))
    assert not torch.equal(d[0], direction(model, 8, "d")[0])


def test_a_cell_is_the_loss_of_the_net_with_its_weights_moved_by_hand():
    cfg = RunConfig.arranged("pre-norm", **TINY)
    snapshot = still_at(cfg)
    d, e = (
        dict(zip(_matrices(snapshot.model), direction(snapshot.model, cfg.seed, which), strict=True))
        for which in ("d", "e")
    )
    moved = build_model(cfg)
    own = snapshot.model.state_dict()
    moved.load_state_dict({name: p + 0.5 * d[name] - 0.25 * e[name] if name in d else p for name, p in own.items()})
    x, y = snapshot.batch()
    expected = F.cross_entropy(moved(x)[:, 0], y[:, 0]).item()
    found = result_of(landscape(snapshot, cells=25, reach=0.75))
    column, row = (int(np.argmin(np.abs(found.axis - place))) for place in (0.5, -0.25))
    assert found.axis[column] == pytest.approx(0.5)
    assert found.loss[row, column] == pytest.approx(expected, rel=1e-4)
    assert found.loss[column, row] != pytest.approx(expected, rel=1e-4)
    assert found.moved == sum(p.numel() for p in d.values())


@pytest.mark.usefixtures("few_cells")
@pytest.mark.parametrize("cfg", EVERY, ids=name_of)
@pytest.mark.full
def test_the_middle_of_every_slice_is_the_loss_of_the_log(cfg):
    run = Run(cfg)
    run.advance(4)
    found = result_of(landscape(still_at(cfg), cells=3, reach=0.5))
    assert found.loss.shape == (3, 3)
    assert found.loss[1, 1] == pytest.approx(run.trace().loss[3], rel=1e-6)
    assert np.isfinite(found.loss).all()
    assert len(set(found.loss.flat)) > 1


@pytest.mark.parametrize(
    ("args", "said"),
    [({"cells": 20}, "cells is 20; legal"), ({"reach": 0.0}, "reach is 0"), ({"reach": math.nan}, "reach is nan")],
)
def test_a_slice_that_there_is_not_is_refused_by_name(args, said):
    with pytest.raises(ValueError, match=said):
        result_of(landscape(still_at(RunConfig(**TINY)), **args))


# --- sharpness ---


def full_hessian(cfg, step):
    """The Hessian of the step's loss by all parameters, differentiated twice at once, in float64."""
    snapshot = still_at(cfg, step)
    model = snapshot.model.double()
    x, y = snapshot.batch()
    x = x.double() if x.is_floating_point() else x
    shapes = {name: p.shape for name, p in model.named_parameters()}
    buffers = dict(model.named_buffers())
    taken = y.flatten() >= 0

    def loss(flat):
        parts = dict(zip(shapes, flat.split([shape.numel() for shape in shapes.values()]), strict=True))
        weights = {name: part.view(shapes[name]) for name, part in parts.items()}
        logits = torch.func.functional_call(model, weights | buffers, (x,))
        return F.cross_entropy(logits.flatten(0, 1)[taken], y.flatten()[taken])

    with sdpa_kernel(SDPBackend.MATH):
        return torch.autograd.functional.hessian(loss, parameters_to_vector(model.parameters()).detach()).numpy()


SPIRAL = {"task": "spiral", "depth": 1, "activation": "tanh"}


@pytest.mark.parametrize(
    "cfg",
    [
        RunConfig(**TINY | SPIRAL),
        RunConfig(**TINY | SPIRAL | {"placement": "post-norm", "norm": "rms norm"}),
        RunConfig(**TINY | SPIRAL | {"norm": "batch norm"}),
        RunConfig.arranged("LayerScale", **TINY | SPIRAL),
    ],
    ids=name_of,
)
def test_the_sharpness_is_the_largest_eigenvalue_of_the_full_hessian(cfg):
    values = np.linalg.eigvalsh(full_hessian(cfg, 3))
    found = result_of(sharpness(Replays(), cfg, step=3))
    assert found.steps.tolist() == [0, 1, 2, 3]
    assert found.residual[-1] < curvature.MAX_RESIDUAL
    assert found.sharpness[-1] == pytest.approx(values.max(), rel=5e-3)


@pytest.mark.parametrize("work", [1e9, 1.0], ids=["one part", "a part for each sample"])
@pytest.mark.full
def test_a_product_with_a_vector_is_that_of_the_full_hessian_and_of_attention_too(monkeypatch, work):
    monkeypatch.setattr(curvature, "MAX_PART_WORK", work)
    cfg = RunConfig(
        net="transformer", task="digits", heads=2, **TINY | {"depth": 1, "width": 8, "batch": 3, "activation": "tanh"}
    )
    parts, samples = result_of(hessian_products(still_at(cfg, 2)))
    full = full_hessian(cfg, 2)
    v = torch.randn(len(full), dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    assert (len(parts), samples) == (1 if work > 1 else 3, 3)
    np.testing.assert_allclose(sum(part(v) for part in parts).numpy(), full @ v.numpy(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("values", [[-5.0, 3.0, 1.0], [4.0, -3.9, 0.0], [-2.0, -1.0, -0.5], [0.0, 0.0, 0.0]], ids=str)
def test_the_largest_eigenvalue_is_found_where_a_negative_one_is_larger_or_as_large(values):
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))
    matrix = torch.from_numpy(turn @ np.diag(values) @ turn.T)
    value, _, _, _ = result_of(largest_eigenvalue([lambda v: matrix @ v], torch.ones(3, dtype=torch.float64)))
    assert value == pytest.approx(max(values), abs=0.02)


@pytest.mark.parametrize("optimizer", ["sgd", "momentum"])
@pytest.mark.parametrize(("share", "stays"), [(0.97, True), (1.03, False)])
def test_descent_on_a_quadratic_leaves_it_just_above_the_edge(optimizer, share, stays):
    rate = 0.01
    curve, w, m = share * float(stability_edge(optimizer, np.array(rate))), 1.0, 0.0
    for _ in range(2000):
        m = (0.9 * m if optimizer == "momentum" else 0.0) + curve * w
        w -= rate * m
    assert (abs(w) < 1) == stays


def test_adam_has_no_line_and_the_sentence_says_so():
    assert np.isnan(stability_edge("adam", np.array([0.1]))).all()
    assert "does not apply" in edge_sentence("adamw", 0.001)
    assert "at a sharpness of 380" in edge_sentence("momentum", 0.01)
    assert "at a sharpness of 200, 2 / learning rate" in edge_sentence("sgd", 0.01)


def test_the_rate_is_that_of_the_schedule():
    cfg = RunConfig(**TINY | {"warmup": 4, "lr": 0.04, "optimizer": "sgd"})
    found = result_of(sharpness(Replays(), cfg, step=10))
    assert found.steps.tolist() == [0, 1, 3, 4, 6, 7, 9, 10]
    np.testing.assert_allclose(found.rate, [0.01, 0.02, 0.04, 0.04, 0.04, 0.04, 0.04, 0.04])


def test_a_net_that_is_too_large_for_its_batch_is_measured_on_fewer_samples(monkeypatch):
    monkeypatch.setattr(curvature, "MAX_PRODUCT_WORK", 6 * 2 * 2 * 8 * 8 * 3)
    found = result_of(sharpness(Replays(), RunConfig(**TINY), step=0))
    assert found.samples == 3


# --- the Jacobian ---


@pytest.mark.parametrize("cfg", [*in_turn(EVERY[: len(PAIRS)], called=name_of), *EVERY[len(PAIRS) :]], ids=name_of)
def test_the_singular_values_are_those_of_finite_differences(cfg):
    snapshot = still_at(cfg)
    model = snapshot.model.double()
    x = snapshot.batch()[0].double()
    with torch.no_grad():
        x0 = model.position(model.embed(x))
        columns = []
        for feature in range(cfg.width):
            ends = []
            for move in (1e-5, -1e-5):
                moved = x0.clone()
                moved[0, -1, feature] += move
                ends.append(model.stream(moved)[0, -1].numpy())
            columns.append((ends[0] - ends[1]) / 2e-5)
    expected = np.linalg.svd(np.array(columns).T, compute_uv=False)
    found = result_of(stream_jacobian(still_at(cfg)))
    np.testing.assert_allclose(found.singular_values, expected, rtol=1e-5, atol=1e-6 * expected[0])
    assert found.samples == (8 if cfg.norm == "batch norm" else 1)


def test_a_wide_stream_has_no_whole_jacobian():
    assert panel.MAX_JACOBIAN_WIDTH == measure.MAX_WIDTH
    with pytest.raises(ValueError, match="width is 72; the Jacobian is taken up to 64"):
        result_of(stream_jacobian(still_at(RunConfig(**TINY | {"width": 72}), 0)))


# --- runs that diverged, sentences, figures ---


@pytest.mark.usefixtures("few_cells")
@pytest.mark.parametrize("net", NETS.values(), ids=NETS)
def test_a_run_that_diverged_has_no_numbers_and_says_so(net):
    cfg = RunConfig(**DIVERGES | net)
    snapshot = still_at(cfg, 40)
    assert snapshot.step < 40
    walked, stretched = result_of(landscape(snapshot, cells=3)), result_of(stream_jacobian(still_at(cfg, 40)))
    assert not np.isfinite(walked.loss[1, 1])
    assert "not finite" in slice_sentence(walked.axis, walked.loss)
    assert np.isnan(stretched.singular_values).all()
    assert "not finite" in jacobian_sentence(stretched.singular_values)
    found = result_of(sharpness(Replays(), cfg, step=snapshot.step))
    columns = {key: getattr(found, key) for key in ("steps", "rate", "sharpness", "residual")}
    assert "not finite" in sharpness_sentence(cfg.optimizer, **columns)
    drawn(slice_map(walked.axis, walked.loss))


def test_separate_hollows_are_counted():
    loss = np.ones((7, 7))
    loss[2, 2] = loss[4, 5] = 0.5
    assert count_minima(loss) == 2
    assert count_minima(np.ones((7, 7))) == 0
    loss[0, 0] = 0.1  # at the rim nobody knows what comes after
    assert count_minima(loss) == 2


def test_the_sentences_judge_by_their_numbers():
    axis = np.array([-1.0, 0.0, 1.0])
    bowl = np.array([[4.0, 2.0, 4.0], [2.0, 1.0, 2.0], [4.0, 0.5, math.inf]])
    text = slice_sentence(axis, bowl)
    assert text == (
        "Smooth, and a valley: from 1 at the net the loss goes to a median of 2 on the rim, ±1 filter lengths away; "
        "1 of 9 cells lie lower than the net. 1 of 9 cells are not finite."
    )
    assert slice_sentence(axis, np.ones((3, 3))).startswith("Smooth, and flat: ")
    hollows = np.ones((7, 7))
    hollows[1::2, 1::2] = 0.5
    assert slice_sentence(np.linspace(-1, 1, 7), hollows).startswith("Jagged, with 9 separate hollows: from 0.5 at")
    two = {"steps": np.array([0, 9]), "rate": np.full(2, 0.01), "residual": np.full(2, 0.01)}
    for last, where in ((1.0, "far below"), (100.0, "below"), (190.0, "at"), (900.0, "above")):
        text = sharpness_sentence("sgd", **two, sharpness=np.array([5.0, last]))
        assert f"The sharpness is {last:.3g} at step 9, from 5 at step 0: {where} the edge of stability, 200." == text
    unsettled = sharpness_sentence("adam", **two | {"residual": np.full(2, 0.2)}, sharpness=np.array([5.0, 6.0]))
    assert "adam has no plain line" in unsettled
    assert "off by up to 20%" in unsettled
    assert "condition number 4), 2.92 in the root mean square." in jacobian_sentence(np.array([4.0, 1.0]))
    lost = jacobian_sentence(np.array([4.0, 0.1, 1e-17, 0.0]))
    assert "unevenly" in lost
    assert "2 of 4 directions are lost to rounding" in lost
    assert "does not depend" in jacobian_sentence(np.zeros(3))


AXIS = np.linspace(-1, 1, 5)
LOSSES = {
    "within a decade": 1 + np.add.outer(AXIS**2, AXIS**2),
    "over decades": 10 ** (3 * np.add.outer(AXIS**2, AXIS**2)),
    "partly lost": np.where(np.add.outer(AXIS, AXIS) > 1, np.inf, np.where(np.add.outer(AXIS, AXIS) < -1, np.nan, 2.0)),
    "all lost": np.full((5, 5), np.nan),
    "exactly 0": np.zeros((5, 5)),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_plotly_accepts_the_slice_and_its_table_is_the_slice(loss):
    values = LOSSES[loss]
    figure = slice_map(AXIS, values)
    figure = drawn(figure)
    if loss == "all lost":
        assert figure["data"] == []
        assert "no finite loss" in [one["text"] for one in figure["layout"]["annotations"]]
        return
    np.testing.assert_allclose(table_of(figure).to_numpy().astype(float), values, rtol=6e-4)
    lost = [trace for trace in figure["data"] if trace["name"] == "not finite"]
    assert bool(lost) == (loss == "partly lost")
    assert ("log colour" in figure["data"][0]["colorbar"]["title"]["text"]) == (loss == "over decades")


def test_the_panel_opens_with_the_slice():
    page = opened("Landscape", width="8", batch="8")
    assert "Loss on a plane of weights" in charts(page)
    assert "Smooth, and " in words(page)
    assert "the edge of stability lies at a sharpness of 380" in words(page)
    details = {"Sharpness by step", "Stretch by rank"}
    assert not details & charts(page).keys()
    for label in ("Measure sharpness", "Take the stack's Jacobian"):
        press(page, label)
    assert details <= charts(page).keys()


def _matrices(model):
    return [name for name, p in model.named_parameters() if p.ndim > 1]
