"""The charts of layers and steps: nothing that was measured is dropped, and plotly accepts what is drawn."""

import json
import math
from itertools import product
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.charts import parts as figures
from components.charts.colour import GREY, RED, SIGNAL
from components.charts.depth import ROLES, Series, depth_profile, log_range
from components.charts.linear import cosine_chart
from components.charts.parts import (
    Figure,
    rounded,
    site_names,
    site_ticks,
)
from components.charts.steps import step_map
from tests.tables import table_of

TINY, HUGE = 1e-45, 1e38
VALUES = {
    "typical": np.array([1.0, 0.5, 0.2, 0.1]),
    "empty": np.empty(0),
    "one point": np.array([0.3]),
    "all zero": np.zeros(4),
    "all NaN": np.full(4, np.nan),
    "mixed with inf": np.array([1.0, np.inf, np.nan, 0.0, -np.inf, 2.0]),
    "the range of float32": np.array([TINY, 1e-20, 1.0, 3e38, HUGE], np.float32),
}


def _profile(values: np.ndarray) -> Figure:
    series = [Series("before", values, "ghost"), Series("step 3", values)]
    return depth_profile(title="Signal by depth", unit="RMS", hue=SIGNAL, sites=_sites(len(values)), series=series)


def _cosine(values: np.ndarray) -> Figure:
    return cosine_chart(sites=_sites(len(values)), series=[Series("step 3", values)])


def _map(values: np.ndarray) -> Figure:
    grid = np.tile(values[:, None], (1, 3))
    return step_map(
        title="Gradient",
        unit="RMS",
        hue=SIGNAL,
        sites=_sites(3),
        step=np.arange(len(values)),
        values=grid,
        shown_step=1,
    )


CHARTS = {"profile": _profile, "cosine": _cosine, "map": _map}


@pytest.mark.parametrize(("chart", "values"), list(product(CHARTS, VALUES)))
def test_plotly_and_json_accept_every_chart(chart, values):
    figure = CHARTS[chart](VALUES[values])
    go.Figure(figure)
    assert json.loads(json.dumps(figure, allow_nan=False)) == figure


@pytest.mark.parametrize("chart", CHARTS)
def test_an_empty_input_gives_named_axes_and_says_why(chart):
    figure = CHARTS[chart](np.empty(0))
    assert figure["data"] == []
    assert any(
        why in note["text"] for note in figure["layout"]["annotations"] for why in ("measured yet", "trained yet")
    )
    assert figure["layout"]["xaxis"]["title"]["text"]
    assert figure["layout"]["yaxis"]["title"]["text"]


def test_no_series_at_all_says_why_too():
    figure = depth_profile(title="Signal by depth", unit="RMS", hue=SIGNAL, sites=(), series=())
    assert "nothing measured yet" in [note["text"] for note in figure["layout"]["annotations"]]


@pytest.mark.parametrize("values", VALUES)
def test_every_value_of_a_profile_is_a_point_or_a_mark(values):
    measured = VALUES[values].astype(float)
    figure = depth_profile(
        title="t", unit="RMS", hue=SIGNAL, sites=_sites(len(measured)), series=[Series("now", measured)]
    )
    found = {trace["name"]: trace for trace in figure["data"]}
    zeros, lost = int((measured == 0).sum()), int((~np.isfinite(measured)).sum())
    assert _count(found.get("exactly 0")) == zeros
    assert _count(found.get("not finite")) == lost
    assert _count(found.get("now")) == len(measured) - zeros - lost


def test_zeros_lie_on_the_lower_edge_and_what_is_not_finite_on_the_upper():
    figure = depth_profile(
        title="t", unit="RMS", hue=SIGNAL, sites=_sites(6), series=[Series("now", VALUES["mixed with inf"])]
    )
    low, high = figure["layout"]["yaxis"]["range"]
    found = {trace["name"]: trace for trace in figure["data"]}
    assert found["exactly 0"]["x"] == [3]
    assert np.log10(found["exactly 0"]["y"]) == pytest.approx([low], abs=0.02)
    assert found["not finite"]["x"] == [1, 2, 4]
    assert np.log10(found["not finite"]["y"]) == pytest.approx([high] * 3, abs=0.02)
    assert found["not finite"]["customdata"] == ["inf", "nan", "-inf"]
    assert found["exactly 0"]["cliponaxis"] is False


def test_two_series_of_zeros_are_both_marked_apart_and_named_once():
    series = [Series("old", np.zeros(3), "ghost"), Series("new", np.zeros(3))]
    marks = [
        t
        for t in depth_profile(title="t", unit="RMS", hue=SIGNAL, sites=_sites(3), series=series)["data"]
        if t["name"] == "exactly 0"
    ]
    assert [mark["meta"] for mark in marks] == ["old", "new"]
    assert [mark["showlegend"] for mark in marks] == [True, False]
    assert marks[0]["marker"]["symbol"] != marks[1]["marker"]["symbol"]
    assert marks[0]["marker"]["size"] > marks[1]["marker"]["size"]


def test_a_site_without_a_cosine_is_marked_and_a_series_without_any_is_left_out():
    some = cosine_chart(
        sites=_sites(3), series=[Series("now", np.array([0.5, np.nan, 1.0])), Series("g", np.full(3, np.nan), "ghost")]
    )
    assert [trace["name"] for trace in some["data"]] == ["now", "no direction"]
    assert some["data"][1]["x"] == [1]
    none = cosine_chart(sites=_sites(3), series=[Series("now", np.full(3, np.nan))])
    assert none["data"] == []
    assert none["layout"]["annotations"][0]["text"] == "nothing measured yet"


@pytest.mark.parametrize("smallest", [1e-4, 4e-5, 2e-9])
def test_marks_at_the_edge_stay_inside_the_axis_after_rounding(smallest):
    values = np.array([smallest, 0.0, np.inf, 1.0])
    figure = depth_profile(
        title="t", unit="RMS", hue=SIGNAL, sites=("x0", "b01", "b02", "b03"), series=[Series("now", values)]
    )
    low, high = (10.0**power for power in figure["layout"]["yaxis"]["range"])
    edges = [trace["y"][0] for trace in figure["data"] if trace["mode"] == "markers"]
    assert len(edges) == 2
    assert low < min(edges) < 1.05 * low
    assert high / 1.05 < max(edges) < high


def test_the_cosine_axis_reaches_negative_cosines():
    figure = _cosine(np.array([-0.9, 0.4]))
    assert figure["layout"]["yaxis"]["range"][0] < -0.9


FLOATS = st.floats(TINY, HUGE) | st.sampled_from([0.0, math.nan, math.inf, -math.inf, TINY, HUGE])
RANGES = st.tuples(st.integers(-90, 60), st.integers(0, 40)).map(lambda r: (r[0] / 2, (r[0] + r[1]) / 2))


@given(st.lists(FLOATS), st.none() | RANGES)
def test_a_held_range_covers_the_data_spans_two_decades_and_never_shrinks(values, previous):
    array = np.array(values, float)
    low, high = log_range(previous, array)
    assert high - low >= 2
    drawn = np.log10(array[np.isfinite(array) & (array > 0)])
    assert (drawn > low).all()
    assert (drawn < high).all()
    if previous is not None:
        assert low <= previous[0]
        assert high >= previous[1]
    assert log_range((low, high), array) == (low, high)


@given(st.floats(TINY, HUGE))
def test_numbers_are_sent_with_four_significant_digits(value):
    (sent,) = rounded([value])
    assert sent == pytest.approx(value, rel=6e-4)
    assert sent == float(f"{value:.3e}")


DECIMALS = st.tuples(st.integers(-99999, 99999), st.integers(-40, 30)).map(lambda d: float(f"{d[0]}e{d[1]}"))


@given(st.lists(DECIMALS | st.sampled_from([0.0, TINY, HUGE, math.nan, math.inf, -math.inf]), min_size=1, max_size=8))
def test_a_grid_is_sent_with_the_digits_of_its_single_numbers(values):
    (sent,) = figures.rounded_grid(np.array([values]))
    for got, value in zip(sent, values, strict=True):
        if not math.isfinite(value):
            assert got is None
        else:
            assert got == pytest.approx(value, rel=5.01e-4, abs=0)
            assert got == pytest.approx(float(f"{got:.4g}"), rel=1e-15, abs=0)


@pytest.mark.parametrize("steps", [1, 2, 149, 150, 151, 1000])
def test_a_map_takes_at_most_150_steps_the_first_and_the_last_among_them(steps):
    figure = step_map(
        title="t", unit="RMS", hue=SIGNAL, sites=_sites(2), step=np.arange(steps), values=np.ones((steps, 2))
    )
    grid = figure["data"][0]
    assert len(grid["x"]) == min(steps, 150)
    assert (grid["x"][0], grid["x"][-1]) == (0, steps - 1)
    assert np.shape(grid["z"]) == np.shape(grid["customdata"]) == (2, min(steps, 150))


def test_cells_that_have_no_logarithm_are_coloured_and_counted():
    values = np.array([[1.0, 0.0], [np.nan, 0.01], [np.inf, 0.0], [2.0, -np.inf]])
    figure = step_map(title="t", unit="RMS", hue=SIGNAL, sites=_sites(2), step=np.arange(4), values=values)
    grid, lost = figure["data"]
    assert grid["z"] == [[0.0, None, None, 0.301], [None, -2.0, None, None]]
    assert lost["z"] == [[None, 1.0, 1.0, None], [0.0, None, 0.0, 1.0]]
    assert lost["colorscale"] == [[0, GREY], [1, RED]]
    assert figure["layout"]["annotations"][0]["text"] == "cells: 2 exactly 0 (grey), 3 not finite (red)"


def test_a_whole_map_needs_no_second_one():
    figure = _map(np.array([1.0, 2.0]))
    assert len(figure["data"]) == 1
    assert "annotations" not in figure["layout"]


def test_the_shown_step_is_seen_on_a_map():
    assert {shape["x0"] for shape in _map(np.ones(5))["layout"]["shapes"]} == {1}


def test_roles_differ_without_their_colours():
    codes = {(role["line"].get("dash", "solid"), role["mode"]) for role in ROLES.values()}
    assert len(codes) == len(ROLES)


def test_a_long_name_is_shortened_in_the_legend_and_whole_in_hover_and_table():
    name = "res-post-norm + QK-norm, 32x64, step 120"
    figure = depth_profile(
        title="t", unit="RMS", hue=SIGNAL, sites=_sites(2), series=[Series(name, np.ones(2), "pinned")]
    )
    line = figure["data"][0]
    assert len(line["name"]) <= 30
    assert line["name"].startswith("res-post-norm")
    assert line["name"].endswith("step 120")
    assert line["meta"] == name
    assert set(table_of(figure)["line"]) == {name}


def test_the_legend_gets_the_rows_that_it_needs_above_the_plot():
    def top(count: int) -> int:
        series = [Series(f"pre-norm + GPT-2 init, step {at}", np.ones(2), "ghost") for at in range(count)]
        return depth_profile(title="t", unit="RMS", hue=SIGNAL, sites=_sites(2), series=series)["layout"]["margin"]["t"]

    assert top(3) - top(2) == top(2) - top(1) == figures.LEGEND_ROW


def test_ticks_name_the_last_site_and_are_few():
    sites = ["x0", *(f"b{block:02d}.{kind}" for block in range(1, 49) for kind in ("attn", "ffn"))]
    axis = depth_profile(title="t", unit="RMS", hue=SIGNAL, sites=sites, series=[Series("now", np.ones(97))])["layout"][
        "xaxis"
    ]
    assert len(axis["tickvals"]) == len(axis["ticktext"]) == 5
    assert (axis["tickvals"][-1], axis["ticktext"][-1]) == (96, "48")


def test_a_chart_over_depth_counts_blocks_from_the_input_and_its_hover_names_the_place():
    sites = ["x0", *(f"b{block:02d}" for block in range(1, 33))]
    figure = depth_profile(title="t", unit="RMS", hue=SIGNAL, sites=sites, series=[Series("now", np.ones(33))])
    axis = figure["layout"]["xaxis"]
    assert axis["title"]["text"] == "block"
    assert dict(zip(axis["tickvals"], axis["ticktext"], strict=True)) == {
        0: "input",
        8: "8",
        16: "16",
        24: "24",
        32: "32",
    }
    assert figure["data"][0]["text"][::16] == ["input", "block 16", "block 32"]
    halves = site_ticks(["x0", "b01.attn", "b01.ffn", "b02.attn", "b02.ffn"])
    assert (halves["tickvals"], halves["ticktext"]) == (
        [0, 2, 4],
        ["input", "1", "2"],
    )  # a block ends with its last sublayer
    assert site_names(["b02.attn", "b02.ffn"], 2) == ["block 2, attention", "block 2, feed-forward net"]
    assert site_ticks(["1", "4", "16"])["ticktext"] == ["1", "4", "16"]  # numbers that are no blocks


def test_a_net_of_another_depth_has_its_own_places():
    figure = depth_profile(
        title="t", unit="RMS", hue=SIGNAL, sites=_sites(3), series=[Series("old", np.array([1.0, 2.0]), "ghost")]
    )
    assert figure["data"][0]["text"] == ["site 0", "site 1"]


@given(st.lists(FLOATS, min_size=1, max_size=40))
def test_the_table_behind_a_profile_is_its_input(values):
    sites = _sites(len(values))
    figure = depth_profile(title="t", unit="RMS", hue=SIGNAL, sites=sites, series=[Series("now", np.array(values))])
    table = table_of(figure)
    assert table["at"].tolist() == site_names(sites, len(values))
    _same_to_four_digits(table["value"], values)


def test_the_table_behind_a_map_is_its_input_with_sites_as_rows():
    values = np.array([[1.23456, 0.0], [np.inf, 2e-30], [np.nan, 7.0]])
    table = table_of(step_map(title="t", unit="RMS", hue=SIGNAL, sites=("x0", "b01"), step=np.arange(3), values=values))
    assert table.index.tolist() == ["input", "block 1"]
    assert table.columns.tolist() == [0, 1, 2]
    _same_to_four_digits(table.to_numpy().ravel(), values.T.ravel())


@pytest.mark.parametrize("chart", CHARTS)
def test_an_empty_figure_has_an_empty_table(chart):
    assert table_of(CHARTS[chart](np.empty(0))).empty


def _sites(count: int) -> tuple[str, ...]:
    return ("x0", *(f"b{block:02d}" for block in range(1, count)))[:count]


def _count(trace: dict[str, Any] | None) -> int:
    return 0 if trace is None else sum(y is not None for y in trace["y"])


def _named(figure: Figure, name: str) -> dict[str, Any]:
    return next(trace for trace in figure["data"] if trace["name"] == name)


def _same_to_four_digits(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=6e-4, atol=0)
