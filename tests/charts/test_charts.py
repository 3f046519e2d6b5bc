"""The charts of layers: nothing that was measured is dropped, and plotly accepts what the browser draws."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addnorm.player.declare import Figure, colour_bar, figure_of, layout_of
from components.charts.colour import GREY, RED, SIGNAL
from components.charts.depth import Series, cosine_chart, depth_profile, linear_profile
from components.charts.parts import fixed_map, numbers, places, rounded
from models.spec.bounds import MAX_RUNS_PER_PAGE
from tests.drawn import all_drawn, drawn
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


def _profile(*values: np.ndarray, **how: Any) -> Figure:
    series = [
        Series(f"line {at}", one, role) for at, (one, role) in enumerate(zip(values, ("now", "previous"), strict=False))
    ]
    sites = _sites(max(map(len, values), default=0))
    return depth_profile(title="Signal by depth", unit="RMS", hue=SIGNAL, sites=sites, series=series, **how)


def _cosine(values: np.ndarray) -> Figure:
    return cosine_chart(sites=_sites(len(values)), series=[Series("step 3", values)])


def _map(values: np.ndarray, **how: bool) -> Figure:
    cells = np.asarray(values, float)
    layout = layout_of("Gradient", x="step", y="block", legend=False, hue=SIGNAL)
    hover = {"hovertemplate": "%{y}, step %{x}: %{customdata:.4g}<extra></extra>", "colorbar": colour_bar("RMS")}
    trace = {"name": "Gradient", "hue": SIGNAL, **hover}
    return figure_of([fixed_map(trace, cells, **how)], layout, "not trained yet")


def test_plotly_accepts_every_chart_and_an_empty_one_says_why():
    makers = {"profile": _profile, "cosine": _cosine, "map": lambda values: _map(np.tile(values, (3, 1)))}
    cases = list(product(makers, VALUES))
    for (kind, values), figure in zip(
        cases, all_drawn([makers[kind](VALUES[values]) for kind, values in cases]), strict=True
    ):
        if values == "empty":
            assert figure["data"] == []
            assert table_of(figure).empty
            (why,) = [note["text"] for note in figure["layout"]["annotations"]]
            assert why in ("nothing measured yet", "not trained yet"), kind
        assert figure["layout"]["xaxis"]["title"]["text"]
        assert figure["layout"]["yaxis"]["title"]["text"]


def test_every_value_of_a_profile_is_a_point_or_a_mark_and_in_its_table():
    lines = [one.astype(float) for name, one in VALUES.items() if name != "empty"]
    random = np.random.default_rng(0)
    kinds = [0.0, math.nan, math.inf, -math.inf, TINY, HUGE]
    for count in (1, 7, 40):
        some = 10.0 ** random.uniform(-40, 37, count)
        lines.append(np.where(random.random(count) < 0.5, some, random.choice(kinds, count)))
    for measured, figure in zip(lines, all_drawn([_profile(one) for one in lines]), strict=True):
        found = {trace["name"]: trace for trace in figure["data"]}
        assert _count(found.get("exactly 0")) == (measured == 0).sum()
        assert _count(found.get("not finite")) == (~np.isfinite(measured)).sum()
        assert _count(found.get("line 0")) == (np.isfinite(measured) & (measured != 0)).sum()
        table = table_of(figure)
        assert table["at"].tolist() == places(_sites(len(measured)))["names"]
        np.testing.assert_allclose(table["value"].astype(float), measured, rtol=6e-4, atol=0)


def test_zeros_and_infinities_lie_inside_the_edges():
    lines = [VALUES["mixed with inf"], *(np.array([least, 0.0, np.inf, 1.0]) for least in (1e-4, 4e-5, 2e-9))]
    for figure in all_drawn([_profile(one) for one in lines]):
        low, high = (10.0**power for power in figure["layout"]["yaxis"]["range"])
        found = {trace["name"]: trace for trace in figure["data"]}
        assert all(low < y < 1.05 * low for y in found["exactly 0"]["y"])
        assert all(high / 1.05 < y < high for y in found["not finite"]["y"])
        assert found["exactly 0"]["cliponaxis"] is False
    assert drawn(_profile(lines[0]))["data"][2]["customdata"] == ["inf", "nan", "-inf"]


def test_a_place_before_the_start_was_not_measured_and_marks_have_the_name_that_was_declared():
    branch = depth_profile(
        title="t", unit="u", hue=SIGNAL, sites=_sites(3), series=[Series("b", np.array([np.nan, 1, 0]), start=1)]
    )
    noise = _profile(np.array([1.0, -0.5, 0.0, np.nan]), zero="not above the noise", guides=[1.0])
    branch, noise = all_drawn([branch, noise])
    assert [(trace["name"], trace["x"]) for trace in branch["data"]] == [("b", [0, 1, 2]), ("exactly 0", [2])]
    assert [(trace["name"], trace["x"]) for trace in noise["data"][1:]] == [
        ("not above the noise", [1, 2]),
        ("not finite", [3]),
    ]
    assert [shape["y0"] for shape in noise["layout"]["shapes"]] == [1.0]


def test_a_site_without_a_cosine_is_marked_and_a_series_without_any_is_left_out():
    lost = np.full(3, np.nan)
    two = [Series("now", np.array([0.5, np.nan, 1.0])), Series("g", lost, "previous")]
    some, none, low = all_drawn(
        [cosine_chart(sites=_sites(3), series=two), _cosine(lost), _cosine(np.array([-0.9, 0.4]))]
    )
    assert [trace["name"] for trace in some["data"]] == ["now", "no direction from here"]
    assert some["data"][1]["x"] == [1]
    assert none["data"] == []
    assert none["layout"]["annotations"][0]["text"] == "nothing measured yet"
    assert low["layout"]["yaxis"]["range"][0] < -0.9


@pytest.mark.parametrize(
    ("values", "how", "ends"),
    [
        ([1.0, 3.0], {}, (0.88, 3.12)),
        ([1.0, 3.0], {"guides": [0.0]}, (-0.18, 3.18)),
        ([2.0, 2.0], {}, (1.9988, 2.0012)),
        ([1.0, np.inf], {"bounds": (0, 5)}, (0, 5)),
        ([np.nan], {}, (-0.03, 1.05)),
    ],
)
def test_a_linear_axis_has_its_bounds_or_covers_what_is_finite_and_its_guides(values, how, ends):
    series = [Series("a", np.array(values))]
    figure = linear_profile(title="t", unit="u", hue=SIGNAL, sites=_sites(len(values)), series=series, **how)
    assert drawn(figure)["layout"]["yaxis"]["range"] == pytest.approx(ends)


FINITE = st.floats(TINY, HUGE)


@given(FINITE)
def test_numbers_are_sent_with_four_significant_digits(value):
    (sent,) = rounded([value])
    assert sent == pytest.approx(value, rel=6e-4)
    assert sent == float(f"{value:.3e}")


DECIMALS = st.tuples(st.integers(-99999, 99999), st.integers(-40, 30)).map(lambda d: float(f"{d[0]}e{d[1]}"))


@given(st.lists(DECIMALS | st.sampled_from([0.0, TINY, HUGE, math.nan, math.inf, -math.inf]), min_size=1, max_size=8))
def test_a_grid_keeps_digits_and_spells_infinities(values):
    (sent,) = numbers(np.array([values]))
    for got, value in zip(sent, values, strict=True):
        if not math.isfinite(value):
            assert got == str(value)
        else:
            assert got == pytest.approx(value, rel=5.01e-4, abs=0)
            assert got == pytest.approx(float(f"{got:.4g}"), rel=1e-15, abs=0)
    assert numbers(np.array([values]), np.zeros((1, len(values)), bool)) == [[None] * len(values)]


def test_cells_without_a_colour_are_marked_and_counted():
    values = np.array([[1.0, np.nan, np.inf, 2.0], [0.0, 0.01, 0.0, -np.inf]])
    log, linear, whole, signed = all_drawn(
        [_map(values), _map(values, log=False), _map(np.ones((2, 2))), _map(values[:, :2], log=False, signed=True)]
    )
    grid, lost = log["data"]
    assert grid["z"] == [[0.0, None, None, 0.301], [None, -2.0, None, None]]
    assert grid["customdata"] == [[1, None, None, 2], [0, 0.01, 0, None]]
    assert lost["z"] == [[None, 1, 1, None], [0, None, 0, 1]]
    assert lost["colorscale"] == [[0, GREY], [1, RED]]
    assert log["layout"]["annotations"][0]["text"] == "cells: 2 exactly 0 (grey), 3 not finite (red)"
    assert linear["data"][0]["z"][1][0] == 0
    assert linear["layout"]["annotations"][0]["text"] == "cells: 3 not finite (red)"
    assert len(whole["data"]) == 1
    assert whole["layout"]["annotations"] == []
    assert (signed["data"][0]["zmin"], signed["data"][0]["zmax"]) == (-1, 1)
    table = table_of(log).to_numpy().astype(float)
    np.testing.assert_allclose(table, values, rtol=6e-4)


def test_ticks_are_few_with_both_ends_and_a_block_ends_with_its_last_sublayer():
    def ticks(sites: list[str]) -> dict[int, str]:
        lines = [Series("now", np.ones(len(sites)))]
        axis = drawn(depth_profile(title="t", unit="RMS", hue=SIGNAL, sites=sites, series=lines))["layout"]["xaxis"]
        return dict(zip(axis["tickvals"], axis["ticktext"], strict=True))

    halves = [f"b{block:02d}.{kind}" for block in range(1, 49) for kind in ("attn", "ffn")]
    assert ticks(["x0", *halves]) == {0: "input", 24: "12", 48: "24", 72: "36", 96: "48"}
    assert ticks(["x0", *halves[:4]]) == {0: "input", 2: "1", 4: "2"}
    assert ticks(list(_sites(33))) == {0: "input", 8: "8", 16: "16", 24: "24", 32: "32"}
    assert ticks(["1", "4", "16"]) == {0: "1", 1: "4", 2: "16"}  # numbers that are no blocks


def _sites(count: int) -> tuple[str, ...]:
    return ("x0", *(f"b{block:02d}" for block in range(1, count)))[:count]


def _count(trace: dict[str, Any] | None) -> int:
    return 0 if trace is None else sum(y is not None for y in trace["y"])


def test_no_two_runs_have_lines_alike() -> None:
    runs = [Series(str(run), np.array([1.0, 2.0 + run]), run) for run in range(MAX_RUNS_PER_PAGE)]  # type: ignore[arg-type]
    figure = drawn(depth_profile(title="Size", unit="RMS", hue=SIGNAL, sites=("x0", "b01"), series=runs))
    lines = {(trace["line"]["color"], trace["line"]["dash"]) for trace in figure["data"] if trace["mode"] != "markers"}
    assert len(lines) == MAX_RUNS_PER_PAGE
