"""Histograms, kurtosis, dead and saturated units, against numpy, scipy and cases worked out by hand."""

import json

import numpy as np
import pytest
import torch
from scipy import stats

from components.charts.colour import SIGNAL
from components.charts.depth import Series, linear_profile
from exhibits.instruments.distributions.measure import bin_centres, distributions, histogram, kurtosis, unit_shares
from exhibits.instruments.distributions.numbers import tails_sentence
from exhibits.instruments.distributions.page import histogram_map
from models.instruments import INSTRUMENTS
from models.spec import RunConfig, plan
from models.trace import frame_steps
from models.training import Replays, Run, result_of
from tests.app_page import charts, sound, words
from tests.arrangements import every_pair
from tests.drawn import drawn
from tests.instruments.nets import DIVERGES, NETS, PARTS, opened
from tests.tables import table_of

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

TINY = {"depth": 2, "width": 16, "batch": 8, "steps": 10, "device": "cpu"}


def measured(cfg, step=0):
    return result_of(distributions(result_of(Replays().snapshot(cfg, step))))


def by_hand(cfg):
    """The stream and the insides of a net of two-layer branches without norm, with numpy."""
    run = Run(cfg)
    act = {"relu": lambda z: np.maximum(z, 0), "tanh": np.tanh, "sigmoid": lambda z: 1 / (1 + np.exp(-z))}[
        cfg.activation
    ]
    x = run.model.embed(run.next_batch()[0]).detach().double().numpy()
    points, insides = [x], []
    for block in run.model.stream.blocks.values():
        w = {name: p.detach().double().numpy() for name, p in block["mlp"].function.named_parameters()}
        insides.append(act(x @ w["w1.weight"].T + w["w1.bias"]))
        x = x + insides[-1] @ w["w2.weight"].T + w["w2.bias"]
        points.append(x)
    return points, insides


NORMLESS = {**TINY, "placement": "none", "norm": "none", "init_gain": 2.0}


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_every_number_is_that_of_numpy_and_scipy(activation):
    cfg = RunConfig(**NORMLESS, activation=activation)
    points, insides = by_hand(cfg)
    found = measured(cfg)
    edges = np.array([-np.inf, *(np.arange(-23.5, 24) * 0.25), np.inf])
    for at, x in enumerate(points):
        size = np.sqrt((x**2).mean())
        expected = np.histogram(x / size, edges)[0] / x.size
        np.testing.assert_allclose(found.shares[at], expected, atol=1.1 / x.size)  # a value may lie on an edge
        assert found.rms[at] == pytest.approx(size, rel=1e-5)
        each = stats.kurtosis(x.reshape(-1, cfg.width), axis=1, fisher=False, bias=True)
        assert found.kurtosis[at] == pytest.approx(each.mean(), rel=1e-4)
        assert found.kurtosis_max[at] == pytest.approx(each.max(), rel=1e-4)
    tokens = [a.reshape(-1, cfg.width) for a in insides]
    expected = {
        "relu": {
            "dead": [(a == 0).all(0).mean() for a in tokens],
            "always_on": [(a > 0).all(0).mean() for a in tokens],
        },
        "tanh": {"saturated": [(np.abs(a) > 0.97).mean() for a in tokens]},
        "sigmoid": {"saturated": [(a * (1 - a) < 0.05).mean() for a in tokens]},
    }[activation]
    for key in ("dead", "always_on", "saturated"):
        np.testing.assert_allclose(getattr(found, key), expected.get(key, []), atol=1.1 / tokens[0].size, err_msg=key)
    assert max(map(max, expected.values())) > 0  # or the case would show nothing
    assert found.inside == ("b01", "b02")
    assert found.tokens == cfg.batch


def test_the_outermost_bins_are_open_and_the_bins_symmetric():
    x = torch.zeros(10_000, dtype=torch.float64)
    x[0], x[1] = 1e20, -1e20
    shares = histogram(x).shares
    assert shares[0] == shares[-1] == pytest.approx(1e-4)
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_array_equal(bin_centres(), -bin_centres()[::-1])
    assert (bin_centres()[0], bin_centres()[-1], len(bin_centres())) == (-6, 6, 49)


def test_zeros_fill_the_middle_and_what_is_not_finite_has_no_share():
    assert histogram(torch.zeros(5)).shares.argmax() == 24
    none = histogram(torch.full((4,), torch.nan))
    assert np.isnan(none.shares).all()
    assert np.isnan(none.rms)
    assert none.nonfinite == 1


def test_the_kurtosis_of_one_outlier_among_zeros_is_about_the_width():
    x = torch.zeros(3, 64, dtype=torch.float64)
    x[:, 5] = 7.0
    p = 1 / 64  # a Bernoulli variable: (1 - 3p(1 - p)) / (p(1 - p))
    assert kurtosis(x)[0] == pytest.approx((1 - 3 * p * (1 - p)) / (p * (1 - p)))
    assert np.isnan(kurtosis(torch.ones(2, 8))[0])


def test_units_are_judged_over_the_whole_batch_not_by_sample():
    a = torch.tensor([[[0.0, 1.0, 0.0, 2.0]], [[0.0, 3.0, 1.0, 0.0]]])
    assert unit_shares(a, "relu") == {"dead": 0.25, "always_on": 0.25}
    assert unit_shares(torch.tensor([[0.98, -0.98, 0.5, 0.96]]), "tanh") == {"saturated": 0.5}
    assert unit_shares(torch.tensor([[0.04, 0.5, 0.96, 0.1]]), "sigmoid") == {"saturated": 0.5}
    assert unit_shares(a, "gelu") == {}
    assert np.isnan(unit_shares(a * torch.nan, "relu")["dead"])


@every_pair
def test_every_arrangement_of_both_nets_has_whole_histograms(arrangement, net):
    cfg = RunConfig.arranged(arrangement, **TINY, **NETS[net])
    found, sites = measured(cfg), plan(cfg).sites
    assert found.shares.shape == (len(sites), 49)
    np.testing.assert_allclose(found.shares.sum(1) + 0 * found.nonfinite, 1, rtol=1e-6)
    assert (found.kurtosis >= 1).all()
    assert (found.kurtosis <= cfg.width).all()
    assert len(found.inside) == len(found.dead) == 2
    assert (found.dead + found.always_on <= 1).all()
    drawn(histogram_map(title="t", x="depth", over=list(sites), centres=found.centres, shares=found.shares))


@pytest.mark.parametrize(
    "other",
    [
        *PARTS,
        {"layers_per_branch": 1},
        {"activation": "gelu"},
        {"batch": 1},
    ],
    ids=str,
)
def test_other_parts_are_measured_too_and_batch_norm_keeps_its_statistics(other):
    cfg = RunConfig(**TINY | other)
    snapshot = result_of(Replays().snapshot(cfg, 3))
    before = {name: value.clone() for name, value in snapshot.model.state_dict().items()}
    found = result_of(distributions(snapshot))
    assert np.isfinite(found.shares).all()
    assert all(torch.equal(before[name], value) for name, value in snapshot.model.state_dict().items())
    assert found.inside == (("b02",) if "overrides" in other else ("b01", "b02"))
    assert len(found.dead) == (0 if "activation" in other else len(found.inside))


def test_a_run_that_diverged_says_what_is_lost():
    cfg = RunConfig(**TINY | DIVERGES)
    snapshot = result_of(Replays().snapshot(cfg, 40))
    assert snapshot.step < 40
    found = result_of(distributions(snapshot))
    assert found.nonfinite[-1] > 0
    assert np.isnan(found.dead[-1])
    assert "not finite" in tails_sentence(plan(cfg).sites, found.kurtosis)


def test_the_film_of_a_layer_is_what_the_steps_show_one_by_one():
    cfg = RunConfig(**TINY, norm="batch norm")
    film = result_of(INSTRUMENTS["layer film"](Replays(), cfg, step=9, site="b02"))
    assert film.steps.tolist() == [step for step in frame_steps(10) if step <= 9]
    for at, step in enumerate(film.steps.tolist()):
        np.testing.assert_array_equal(film.shares[at], measured(cfg, step).shares[2])
    inside = result_of(INSTRUMENTS["layer film"](Replays(), cfg, step=0, site="b02", inside=True))
    assert inside.shares[0, :24].sum() == 0  # after ReLU nothing is negative
    assert inside.steps.tolist() == [0]


@pytest.mark.parametrize(("site", "inside", "legal"), [("b09", False, "x0, b01"), ("b01.attn", True, "b01.ffn")])
def test_a_layer_that_is_not_there_is_refused_with_what_is(site, inside, legal):
    net = NETS["mlp"] if site == "b09" else NETS["transformer"]
    cfg = RunConfig(**TINY | net)
    with pytest.raises(ValueError, match=f"site is '{site}'.*{legal}"):
        result_of(INSTRUMENTS["layer film"](Replays(), cfg, step=0, site=site, inside=inside))


def test_the_map_keeps_every_share_and_names_its_bins():
    shares = np.zeros((3, 49))
    shares[:, 24], shares[2, 48], shares[1] = 0.75, 0.25, np.nan
    figure = histogram_map(
        title="t", x="depth", over=["x0", "b01.attn", "b01.ffn"], centres=bin_centres(), shares=shares
    )
    figure = drawn(figure)
    table = table_of(figure)
    assert table.shape == (49, 3)
    assert table.loc["+0.00", 0] == 0.75
    assert table.loc["+6.00 and above", 2] == 0.25
    assert np.isnan(table.loc["+0.00", 1])
    assert figure["layout"]["xaxis"]["ticktext"] == ["input", "1"]
    empty = drawn(histogram_map(title="t", x="depth", over=[], centres=np.empty(0), shares=np.empty((0, 0))))
    assert empty["data"] == []
    assert empty["layout"]["annotations"]


def test_a_linear_chart_draws_zero_and_marks_what_is_not_finite():
    series = [
        Series("a", np.array([0.0, np.nan, -2.0])),
        Series("b", np.array([np.nan, 1.0, np.inf]), "other", start=1),
    ]
    figure = linear_profile(title="t", unit="u", hue=SIGNAL, sites=("x0", "b01", "b02"), series=series)
    figure = drawn(figure)
    lines = {(trace["name"], trace.get("meta")): trace for trace in figure["data"]}
    assert lines["a", "a"]["y"] == [0.0, None, -2.0]
    assert lines["no value", "a"]["x"] == [1]
    assert lines["no value", "b"]["x"] == [2]
    low, high = figure["layout"]["yaxis"]["range"]
    assert low < -2
    assert high > 1
    assert drawn(linear_profile(title="t", unit="u", hue=SIGNAL, sites=(), series=[]))["layout"]["annotations"]


def test_the_panel_opens_with_a_sentence_and_shows_a_layer_over_time_at_a_button():
    page = opened("Distributions")
    assert "The kurtosis of one vector is" in words(page)
    assert {"Histogram by depth", "Kurtosis by depth", "Units after the activation"} <= charts(page).keys()
    select = next(box for box in page.selectbox if box.label == "Layer over time")
    assert select.value == "stream, block 4"
    said = [json.loads(one.proto.json) for one in page.get("bidi_component")]
    assert {one["title"] for one in said if one.get("clicks")} == {
        "Histogram by depth",
        "Kurtosis by depth",
        "Units after the activation",
    }
    select.set_value("inside block 4, after the activation")
    sound(page.run())
    next(button for button in page.button if button.label.startswith("Measure this layer")).click()
    sound(page.run())
    figure = charts(page)["Histogram over time"]
    assert "inside block 4" in figure["layout"]["title"]["text"]
    page.session_state["depth"] = 3  # where there is no such layer
    sound(page.run())
    assert next(box for box in page.selectbox if box.label == "Layer over time").value == "stream, block 3"
