"""Positions in trained nets: the pair, its sentences, and the page."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.labs.maps import signed_map
from exhibits.labs.attention.trained.page import (
    NETS,
    beyond_chart,
    beyond_sentence,
    configuration,
    position_chart,
    position_sentence,
)
from tests.app_page import charts, sound, words
from tests.drawn import all_drawn
from tests.labs_page import lab, until
from tests.player_page import declared, panels, rests, runs
from tests.tables import table_of


def test_plotly_json_and_the_table_accept_every_chart():
    accuracy = {name: np.array([1.0, np.nan, 0.1]) for name in NETS}
    figures = [
        position_chart(("x0", "b01.attn", "b01.mlp"), accuracy, 1 / 32),
        beyond_chart(np.full(64, np.inf), 32),
        beyond_chart(np.linspace(4, 2, 64), 32),
        signed_map("t", rows=["0"], columns=["1", "2"], values=np.array([[np.nan, 0.0]]), unit="u", x="x", y="y"),
    ]
    for figure in all_drawn(figures):
        table_of(figure)


def test_the_two_nets_are_alike_but_for_their_skips():
    kept, lost = (configuration(on, "rotary", 3, 40) for on in NETS.values())
    differing = {name for name in kept.__dataclass_fields__ if getattr(kept, name) != getattr(lost, name)}
    assert differing == {"residual"}


@pytest.mark.parametrize(
    ("kept", "lost", "expected"),
    [
        ([0.98, 0.4], [0.97, 0.05], "it is 98% and 97%: the residual keeps the position"),
        ([0.98, 0.05], [0.98, 0.4], "the net without residuals keeps more"),
        ([0.98, 0.41], [0.98, 0.4], "no clear difference"),
        ([0.03, 0.2], [0.03, 0.1], "The stream begins without it (3%)"),
        ([0.9, np.nan], [0.9, 0.1], "no position can be read"),
    ],
)
def test_the_sentence_on_places_says_what_was_read(kept, lost, expected):
    found = {"with residuals": np.array(kept), "without residuals": np.array(lost)}
    assert expected in position_sentence(found, 1 / 32, 7)


@pytest.mark.parametrize(
    ("outside", "step", "expected"),
    [
        (2.6, 9, "does not generalise"),
        (2.0, 9, ": it generalises"),
        (1.5, 9, "even gets better"),
        (2.6, 0, "learned nothing yet"),
        (np.nan, 9, "not finite"),
    ],
)
def test_the_sentence_on_longer_texts_compares_like_with_like(outside, step, expected):
    loss = np.repeat([3.0, 2.0, outside], [16, 16, 32])
    assert expected in beyond_sentence(loss, 32, step)


def opened(page: AppTest, part: str) -> AppTest:
    page.segmented_control(key="attention_part").set_value(part)
    return sound(page.run())


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    page = lab("attention")
    page.selectbox(key="attention_head_preset").select("X times W")
    return sound(page.run())


@pytest.mark.full
def test_nets_are_trained_by_one_button_and_places_are_read_from_them(page):
    opened(page, "Positions in trained nets")
    page.slider(key="attention_trained_depth").set_value(2)
    page.number_input(key="attention_trained_steps").set_value(20)
    sound(page.run())
    assert "At step 0 a token's position is read correctly" in words(page)
    assert [cfg.residual for cfg in runs(page)] == list(NETS.values())
    assert declared(page)["scope"] == " both"
    (both,) = panels(page, "chart").values()
    lines = [trace["name"] for trace in both["figure"]["data"] if trace["bind"]["kind"] == "past"]
    assert (both["title"], lines) == ("Loss", list(NETS))
    rests(page)
    until(page, lambda: "At step 20 the loss" in words(page) and "At step 20 a token" in words(page))
    assert "At step 20 a token's position is read correctly" in words(page)
    assert {"Position read from the stream", "Loss by position"} <= set(charts(page))
