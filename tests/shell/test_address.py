"""The address says what is shown, on every page, after every
walk: AppTest walks as a visitor does through the navigation.
"""

from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from components.controls import panel
from components.shell import address as address_keeper
from components.shell import session
from tests.app_page import (
    APP,
    PATIENCE,
    PLAYGROUND,
    SMALL,
    address,
    back,
    charts,
    configuration,
    labels,
    playground,
    press,
    repeated,
    sound,
    unfolded,
    walk,
    words,
)

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

START = "start.py"
ANATOMY = "anatomy.py"
COMPARE = "compare.py"
LESSONS = "lessons.py"
CLAIMS = "claims.py"
MAPS = "maps.py"
NORMALIZATION = "normalization.py"
GLOSSARY = "glossary.py"


def visit() -> AppTest:
    """A new visitor on the first page."""
    return sound(AppTest.from_file(APP, default_timeout=PATIENCE).run())


# Together they lead from each of the three to each other.
@pytest.mark.parametrize("way", [(PLAYGROUND, ANATOMY, COMPARE), (COMPARE, ANATOMY, PLAYGROUND)], ids=str)
def test_a_walk_with_nothing_touched_finds_every_page_with_its_controls_and_without_a_refusal(
    way: tuple[str, ...],
) -> None:
    page = visit()
    for path in (*way, way[0], START, way[1]):
        page = walk(page, path)
        assert not page.error
        if path != START:
            assert page.segmented_control(key="net").value == "mlp"
            assert page.slider(key="depth").value == 32
            assert "Set" not in labels(page)


def test_playground_and_anatomy_show_the_net_that_was_set_last_on_either() -> None:
    page = playground(**SMALL)
    page.slider(key="depth").set_value(6)
    page = walk(sound(page.run()), ANATOMY)
    assert address(page) == SMALL | {"depth": "6"}
    assert configuration(page).depth == 6
    page.selectbox(key="norm").set_value("rms norm")
    page = walk(sound(page.run()), PLAYGROUND)
    assert address(page) == SMALL | {"depth": "6", "norm": "rms norm"}
    assert configuration(page).norm == "rms norm"


def test_compare_is_found_again_with_its_columns_and_its_seeds() -> None:
    page = walk(visit(), COMPARE)
    page.slider(key="compare_seeds").set_value(3)
    press(page, "Add a column")
    before = address(sound(page.run()))
    assert before["seeds"] == "3"
    page = walk(walk(page, GLOSSARY), COMPARE)
    assert address(page) == before
    assert page.slider(key="compare_seeds").value == 3


# One of each kind of control and page; the addresses of others stand in `tests/pages/test_addresses.py`.
CHOICES: dict[str, tuple[str, str, str, Any, dict[str, str]]] = {
    "lesson": (LESSONS, "selectbox", "lesson_box", "final", {"lesson": "final"}),
    "claim": (CLAIMS, "cards", "claim_choice", "copies", {"claim": "copies"}),
    "map": (MAPS, "selectbox", "map_choice", "your own", {"map": "your-own"}),
    "closer look": (
        NORMALIZATION,
        "segmented_control",
        "normalization_part",
        "Gain and bias",
        {"part": "gain-and-bias"},
    ),
    "instrument": (PLAYGROUND, "cards", "instrument", "Health", {"instrument": "health"}),
    "block": (ANATOMY, "number_input", "anatomy_block", 5, {"block": "5"}),
    "panel": (PLAYGROUND, "segmented_control", "panel", "What the net says", {"panel": "what-the-net-says"}),
}


@dataclass
class Cards:
    """Cards of `components.shell.cards`, which AppTest does not know: what is chosen stands in the session's state."""

    page: AppTest
    key: str

    @property
    def value(self) -> Any:
        """The name of the card that is chosen."""
        return self.page.session_state[self.key]

    def set_value(self, name: str) -> None:
        """Chooses a card by its name."""
        self.page.session_state[self.key] = name


@pytest.mark.parametrize("name", CHOICES)
def test_what_is_chosen_stands_in_the_address_and_is_found_by_it_and_after_a_walk(name: str) -> None:
    path, kind, key, value, says = CHOICES[name]

    def widget(page: AppTest) -> Any:
        return Cards(page, key) if kind == "cards" else getattr(page, kind)(key=key)

    page = walk(visit(), path)
    first = widget(page).value
    widget(page).set_value(value)
    page = sound(page.run())
    assert address(page) == says
    page = walk(walk(page, START), path)
    assert address(page) == says
    assert widget(page).value == value
    assert widget(back(page)).value == first
    reloaded = visit()
    reloaded.switch_page(path)
    for one, text in says.items():
        reloaded.query_params[one] = text
    assert widget(sound(reloaded.run())).value == value


def test_a_browser_that_repeats_an_address_from_before_a_change_takes_nothing_back() -> None:
    page = unfolded(playground(**SMALL))
    before = address(page)
    page.slider(key="depth").set_value(6)
    after = address(sound(page.run()))
    for key in after.keys() - before.keys():
        del page.query_params[key]
    for key, value in before.items():
        page.query_params[key] = value  # said by a browser that has not heard of the change yet
    page.select_slider(key="width").set_value(24)
    page = sound(page.run())
    assert address(page) == SMALL | {"depth": "6", "width": "24"}
    assert (configuration(page).depth, configuration(page).width) == (6, 24)
    assert configuration(back(page, **before)).depth == 4


@pytest.mark.parametrize(
    ("kind", "key", "value", "found"),
    [
        ("selectbox", "norm", "none", {"norm": "none", "arrangement_made": "residual only"}),
        ("menu_button", "arrangement", "plain", {"norm": "none", "residual": False, "arrangement_made": "plain"}),
        ("segmented_control", "net", "transformer", {"net": "transformer", "task": "book", "depth": 8}),
    ],
)
def test_a_browser_that_presses_before_it_has_heard_of_a_choice_takes_nothing_of_it_back(
    kind: str, key: str, value: Any, found: dict[str, Any]
) -> None:
    page = repeated(playground(**SMALL), kind, key, value)
    assert {name: page.session_state[name] for name in found} == found
    says = address(page)
    assert configuration(sound(page.run())).norm == configuration(page).norm
    assert address(page) == says


def test_a_set_control_can_be_set_back() -> None:
    page = playground(**SMALL)
    page.menu_button(key="arrangement").click("plain")
    sound(page.run())
    page.selectbox(key="norm").set_value("layer norm")
    assert configuration(sound(page.run())).norm == "layer norm"
    page.selectbox(key="norm").set_value("none")
    page.menu_button(key="arrangement").click("pre-norm")
    assert configuration(sound(page.run())).placement == "pre-norm"
    page.menu_button(key="arrangement").click("plain")
    assert page.session_state["arrangement_made"] == "pre-norm"
    assert configuration(sound(page.run())).norm == "none"


def test_a_choice_whose_run_was_cut_short_is_not_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    page = playground(**SMALL)
    page.menu_button(key="arrangement").click("plain")
    said = page._tree.get_widget_states()
    with monkeypatch.context() as patch:
        patch.setattr("components.shell.address.write_changes", lambda: None)
        sound(page.run())
    page = sound(page._run(said))
    assert configuration(page).norm == "none"
    assert not configuration(page).residual
    assert address(page)["norm"] == "none"


@pytest.mark.parametrize("ends", [st.stop, st.rerun], ids=["left unfinished", "begun again"])
def test_a_page_whose_first_run_ended_before_its_controls_shows_the_net_that_was_left(monkeypatch, ends) -> None:
    page = playground(**SMALL)
    page.slider(key="depth").set_value(6)
    sound(page.run())
    page = walk(page, COMPARE)
    left = 5  # Compare begins with the playground's net
    page.slider(key="depth").set_value(left)
    sound(page.run())
    draws = chain([ends], repeat(panel.draw))
    with monkeypatch.context() as patch:
        patch.setattr(panel, "draw", lambda: next(draws)())  # noqa: PLW0108 - each time the next one
        page = walk(page, PLAYGROUND)
    page = sound(page.run())
    assert configuration(page).depth == page.slider(key="depth").value == 6
    assert address(page)["depth"] == "6"


@pytest.mark.parametrize("before", [0, 1, 9], ids=lambda count: f"{count} controls set")
def test_a_page_whose_first_run_ended_while_it_adopted_its_address_adopts_it_in_the_next(monkeypatch, before) -> None:
    holds = chain(repeat(session.set_widget, before), [lambda *_: st.stop()], repeat(session.set_widget))
    monkeypatch.setattr(address_keeper, "set_widget", lambda *said: next(holds)(*said))  # noqa: PLW0108 - each time the next
    page = playground(**SMALL | {"depth": "6"})
    page = sound(page.run())
    assert configuration(page).depth == page.slider(key="depth").value == 6


def test_a_lesson_that_was_left_by_its_button_is_not_gone_back_to() -> None:
    page = walk(visit(), LESSONS)
    before = [box.value for box in page.selectbox if box.label == "Lesson"]
    next(button for button in page.button if button.label.startswith("Next")).click()
    said = page._tree.get_widget_states()
    sound(page.run())
    del said.widgets[next(at for at, one in enumerate(said.widgets) if "lesson_Next" in one.id)]
    page.query_params.clear()
    page = sound(page._run(said))
    assert [box.value for box in page.selectbox if box.label == "Lesson"] != before


def test_a_link_over_budget_keeps_its_address_and_shows_the_nearest_that_fits() -> None:
    page = playground(depth="128", width="512")
    assert "over budget" in page.error[0].value
    assert address(page) == {"depth": "128", "width": "512"}
    assert "The picture below is what fits: width" in words(page)
    assert {"Signal by depth", "Gradient by depth"} <= charts(page).keys()
    reloaded = playground(**address(page))
    assert reloaded.error[0].value == page.error[0].value


def test_what_a_link_hides_stands_in_the_address_of_every_page_of_the_visit() -> None:
    page = walk(playground(**SMALL, hide="verdict"), COMPARE)
    assert address(page)["hide"] == "verdict"
