"""The table before and after a norm: its picture, its steps, its examples, batch norm's memory, bad input."""

import numpy as np
import pytest
import torch
from torch import nn

from components.labs.page import parts_of
from exhibits.labs.normalization.descent.numbers import descent_steps, unequal_features
from exhibits.labs.normalization.table.numbers import (
    TABLES,
    WILDNESS_FACTORS,
    bands,
    cell_line,
    cells_by_set,
    set_lines,
    wild_table,
)
from exhibits.labs.normalization.table.page import dot_chart
from models.insight.words import number
from models.labs.normalization import CELL, METHODS, initial_running, normalise, updated_running
from tests.app_page import charts, press, sound, words
from tests.drawn import all_drawn, drawn
from tests.labs_page import chosen, lab

HEADINGS = {
    "exhibits.labs.normalization.table.numbers: method": {*METHODS},
    "exhibits.labs.normalization.table.numbers: self.section": {table.section for table in TABLES.values()} - {""},
}

THREE = TABLES["three tokens, layer norm"].values


def close(found, expected, digits=3):
    np.testing.assert_allclose(found, expected, atol=0.51 * 10**-digits)


def test_the_steps_are_those_of_the_numbers():
    found = normalise(THREE, "layer norm")
    lines = set_lines(
        THREE[0], "layer norm", "a", (found.centre[0, 0], found.spread[0, 0], found.scale[0, 0]), {"eps": 1e-5}
    )
    assert lines == [
        r"\mu_{a} = \frac{1 + 2 - 1}{3} = 0.6667",
        r"\sigma^2_{a} = \frac{0.1111 + 1.778 + 2.778}{3} = 1.556",
        r"\sqrt{1.556 + 1 \cdot 10^{-5}} = 1.247",
    ]
    unbiased = set_lines(THREE[0], "layer norm", "a", (2 / 3, 7 / 3, 1.5275), {"eps": 1e-5, "unbiased": True})
    assert unbiased[1] == r"\sigma^2_{a} = \frac{0.1111 + 1.778 + 2.778}{2} = 2.333"
    line = cell_line(THREE, found, "layer norm", (0, 2), {"gain": 2.0, "bias": -1.0})
    assert line.startswith(r"y_{3} = 2 \cdot \frac{-1 - 0.6667}{1.247} - 1 = ")


def drawn_sets(figure):
    """By row of a picture of dots: the values there, and least and greatest of the band."""
    (trace,) = figure["data"]
    rows = {row: [] for row in trace["y"]}
    for row, value in zip(trace["y"], trace["x"], strict=True):
        rows[row].append(value)
    bands = {(shape["y0"] + shape["y1"]) / 2: (shape["x0"], shape["x1"]) for shape in band_shapes(figure)}
    return {row: (sorted(values), bands.get(row)) for row, values in rows.items()}


def band_shapes(figure):
    return [shape for shape in figure["layout"]["shapes"] if shape["type"] == "rect"]


def seen_before_and_after(x, method, **settings):
    """What the two pictures of a table show, by `drawn_sets`."""
    settings = {"gain": 1.0, "bias": 0.0} | settings
    found = normalise(x, method, **settings)
    cells, ends = cells_by_set(found, method), bands(found, method, settings)
    names = ["set"] * len(cells)
    return [
        drawn_sets(dot_chart("t", values, cells, names, [end[at] for end in ends]))
        for at, values in enumerate((x, found.values))
    ]


def test_the_picture_has_a_row_per_token_for_layer_norm_and_per_feature_for_batch_norm():
    for method, sets in (("layer norm", THREE), ("batch norm", THREE.T)):
        before, after = seen_before_and_after(THREE, method, eps=1e-5)
        for row, cells in enumerate(sets, start=1):
            values, (least, most) = before[row]
            assert values == pytest.approx(sorted(cells), rel=1e-3)
            spread = np.sqrt(np.mean((cells - cells.mean()) ** 2) + 1e-5)
            assert (least, most) == pytest.approx((cells.mean() - spread, cells.mean() + spread))
            normed = torch.nn.functional.layer_norm(torch.tensor(cells), cells.shape).tolist()
            assert after[row][0] == pytest.approx(sorted(normed), rel=1e-3)
            assert after[row][1] == (-1, 1)


@pytest.mark.parametrize("method", METHODS)
def test_the_band_goes_wherever_the_norm_takes_its_cells(method):
    before, after = seen_before_and_after(THREE, method, gain=3.0, bias=2.0)
    for row, (values, band) in before.items():
        moved, onto = after[row]
        if METHODS[method].shares == CELL:
            assert band is onto is None
            continue
        share = [(value - band[0]) / (band[1] - band[0]) for value in values]
        assert share == pytest.approx([(value - onto[0]) / (onto[1] - onto[0]) for value in moved], abs=2e-3)
        assert onto == ((2, 5) if method == "min-max" else (-1, 5))


def test_a_picture_of_many_sets_shows_the_first_and_plotly_accepts_it():
    x = np.arange(60.0).reshape(20, 3) ** 1.5
    found = normalise(x, "layer norm")
    figure = dot_chart("t", x, cells_by_set(found, "layer norm"), ["set"] * 20, [(0.0, 1.0, 2.0)] * 20)
    assert len(set(figure["data"][0]["y"])) == len(band_shapes(figure)) == 12
    drawn(figure)


pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


@pytest.fixture
def page():
    return lab("normalization")


def table_named(page, alt):
    return next(frame.value for frame in page.dataframe if frame.proto.alt == alt + ", table")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_shown_with_its_steps(page, method):
    page.selectbox(key="normalization_method").set_value(method)
    sound(page.run())
    expected = normalise(THREE, method).values[0] + 0.0
    assert f"Out: **[{', '.join(f'{value:.4g}' for value in expected)}]**" in words(page)
    assert ("No statistics:" in words(page)) == (METHODS[method].shares == CELL)
    assert METHODS[method].equation in [latex.value.strip("$\n ") for latex in page.latex]


def test_padding_is_left_out_at_a_toggle(page):
    chosen(page, "six tokens and two pads")
    assert page.multiselect(key="normalization_padding").value == [2, 3]
    close(table_named(page, "Statistics of every set")["mean"], [0.090, 0.311, -0.139, 0.035])
    page.toggle(key="normalization_left_out").set_value(True)
    sound(page.run())
    close(table_named(page, "Statistics of every set")["mean"], [0.120, 0.415, -0.185, 0.047])
    first = next(latex.value for latex in page.latex if r"\mu_{a}" in latex.value)
    assert r"{6} = 0.12" in first  # six tokens in the written sum too, not eight


def test_batch_norm_learns_and_is_used_on_data_that_moved(page):
    chosen(page, "three tokens, batch norm")
    press(page, "Train on this batch once")
    press(page, "Train on it 10 times")
    assert "Batches so far: 11" in words(page)
    learned = updated_running(initial_running(3), THREE, batches=11)
    np.testing.assert_allclose(
        table_named(page, "Statistics of the batch and running statistics").loc["running mean"], learned.mean
    )
    page.session_state["normalization_mode"] = "eval"
    sound(page.run())
    page.number_input(key="normalization_shift").set_value(2.0)
    sound(page.run())
    used = normalise(THREE + 2, "batch norm", running=learned).values[0]
    assert f"Out: **[{', '.join(f'{value:.4g}' for value in used)}]**" in words(page)
    press(page, "Reset the statistics")
    assert "Batches so far: 0" in words(page)


def test_one_token_in_training_is_an_error_in_words_and_in_use_it_is_none(page):
    chosen(page, "three tokens, batch norm")
    press(page, "Train on it 10 times")
    chosen(page, "one token", "batch norm")
    assert "needs more than one token" in words(page)
    press(page, "Train on this batch once")
    assert "Batches so far: 10" in words(page)
    page.session_state["normalization_mode"] = "eval"
    sound(page.run())
    assert not page.error


PARTS = {
    "By hand against torch": ["= 18.35% with 3 features"],
    "What layer norm promises": ["at most sqrt(3 - 1) = 1.4142", "2 of 3 directions are discarded"],
    "Gain and bias": ["the norm can be undone for one token, not for all"],
    "Who sees whom": ["**batch norm** moves 3 of 3 tokens"],
    "What scale costs": [
        "must stay below 2 / 10,000, or the steepest direction diverges; here it is half of that, and the flat "
        f"direction takes **{descent_steps(unequal_features(100)):,} steps**",
        "All other tokens together get",
        "With numbers 10 times larger tanh has a slope of",
    ],
    "A batch's statistics": [
        "The mean of a batch of 8 is off by",
        "step 1 takes its statistics over 6 of them",
    ],
    "Trained nets": ["to reduce overfitting", "Batch norm was proposed against this"],
}


def test_the_lab_has_seven_parts_at_most():
    assert list(PARTS) == list(parts_of("normalization", "table"))
    assert len(PARTS) <= 7


@pytest.mark.parametrize("part", PARTS)
def test_every_closer_look_says_what_it_shows(page, part):
    page.session_state["normalization_part"] = part
    sound(page.run())
    for sentence in PARTS[part]:
        assert sentence in words(page)
    all_drawn([*charts(page).values()])


def test_a_pasted_table_is_used_and_a_wrong_one_leaves_the_last(page):
    page.text_area(key="normalization_paste").set_value("1 2 3 4\n5 6 7 9")
    press(page, "Use it")
    assert page.session_state["normalization_good"].shape == (2, 4)
    page.text_area(key="normalization_paste").set_value("1 2 x")
    press(page, "Use it")
    assert "'x' is not a number. The table is unchanged." in words(page)
    assert page.session_state["normalization_good"].shape == (2, 4)
    press(page, "Reset to the example")
    np.testing.assert_array_equal(page.session_state["normalization_good"], THREE)


@pytest.mark.parametrize("wilder", WILDNESS_FACTORS)
def test_wild_values_are_tamed_and_only_eps_keeps_the_tiny_token_small(wilder):
    x = wild_table(wilder)
    np.testing.assert_allclose(x.std(1), [0.01 / wilder, 1, 100 * wilder, 1], rtol=1e-2)
    assert x[3].mean() == pytest.approx(1000)
    judge = nn.functional.layer_norm(torch.tensor(x), (8,)).numpy()
    np.testing.assert_allclose(normalise(x, "layer norm").values, judge, atol=1e-9)
    assert np.abs(judge).max() <= np.sqrt(7)
    spread = judge.std(1)
    np.testing.assert_allclose(spread[1:], 1, atol=1e-5)
    assert spread[0] == pytest.approx(1 / np.sqrt(1 + 1e-5 * (100 * wilder) ** 2), rel=1e-4)


def test_the_slider_makes_the_table_wilder_and_says_what_became_of_it(trainer_in_this_process):
    page = lab("normalization")
    page.selectbox(key="normalization_preset").set_value("wild values")
    sound(page.run())
    assert "stays small" not in words(page)
    page.select_slider(key="normalization_wilder").set_value(1000)
    sound(page.run())
    np.testing.assert_array_equal(page.session_state["normalization_good"], wild_table(1000))
    most = np.abs(wild_table(1000)).max()
    assert f"Largest |value|: {number(float(most), 3)} before, 2." in words(page)
    assert "Only “tiny” stays small: beside √eps = 0.0032" in words(page)
    assert "comes out with a spread of 0.0032, not 1" in words(page)
