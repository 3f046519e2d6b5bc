"""Instruments on the page: a closed one does no work, an open one measures the step shown and keeps its picture."""

import json

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState

from components.instruments import INSTRUMENTS
from models.exhibits import part
from models.instruments import INSTRUMENTS as MEASURED
from tests.app_page import SMALL, charts, playground, sound, trained, words
from tests.inprocess import InProcessTrainer
from tests.player_page import rests

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")
DIVERGES = {**SMALL, "depth": "32", "norm": "none", "placement": "none"}


@pytest.fixture
def asked(monkeypatch):
    """The questions that reach the trainer's engine."""
    found = []
    ask = InProcessTrainer.ask

    def noting(self, question, cfg, wait=0.0, owner=None, **args):
        found.append((question.name, args))
        return ask(self, question, cfg, wait, owner, **args)

    monkeypatch.setattr(InProcessTrainer, "ask", noting)
    return found


def component(page):
    """The cards as they were sent, once unfolded."""
    page.session_state["look_deeper"] = True
    sound(page.run())
    return next(
        one.proto for one in page.get("bidi_component") if json.loads(one.proto.json).get("label") == "Instruments"
    )


def shown_cards(page):
    """What the cards say, by name."""
    return {card["name"]: card for card in json.loads(component(page).json)["cards"]}


def pressed(page, name):
    """The page after a press on a card; a browser takes its press back once it is heard."""
    for said in ({"chosen": name}, {}):
        states = page._tree.get_widget_states()
        states.widgets.append(WidgetState(id=component(page).id, json_value=json.dumps(said)))
        page._run(states)
        sound(page)


def opened(page, label):
    page.session_state["instrument"] = label
    return sound(page.run())


def test_instruments_are_folded_until_one_is_named():
    def cards(page):
        return [one for one in page.get("bidi_component") if json.loads(one.proto.json).get("label") == "Instruments"]

    page = playground(**SMALL)
    assert not cards(page)
    assert cards(playground(**SMALL, instrument="health"))
    assert not cards(playground(**SMALL, instrument="health", hide="instruments"))
    pressed(page, "Stream and branches")
    assert page.query_params["instrument"] == "stream-and-branches"
    page.session_state["look_deeper"] = False
    page.session_state["instrument"] = None
    sound(page.run())
    assert not cards(page)
    assert "instrument" not in page.query_params


def test_a_card_asks_its_question_and_says_why_it_is_no_use_to_this_net():
    offered = shown_cards(playground(**SMALL))
    assert list(offered) == list(INSTRUMENTS)
    assert offered["Where the gradient came from"]["text"] == "Who carries the gradient: residuals or branches?"
    unfit = {"Attention and lens", "Post-mortem", "Streams and depth attention"}
    assert {name for name, card in offered.items() if card["unfit"]} == unfit
    assert "An MLP has no attention" in offered["Attention and lens"]["unfit"]
    assert not shown_cards(playground(**SMALL, net="transformer"))["Attention and lens"]["unfit"]
    assert not shown_cards(playground(**SMALL, stack="mHC"))["Streams and depth attention"]["unfit"]
    assert not shown_cards(trained(playground(**DIVERGES)))["Post-mortem"]["unfit"]


@pytest.mark.parametrize("name", ["nobody", "../../models", "check.page", ""])
def test_no_name_outside_the_listing_is_imported(name):
    with pytest.raises(KeyError):
        part("instruments", name, "page")


def test_a_press_on_a_card_opens_the_instrument_and_another_closes_it():
    page = playground(**SMALL)
    pressed(page, "Stream and branches")
    assert "Stream and branch by depth" in charts(page)
    assert page.query_params["instrument"] == "stream-and-branches"
    pressed(page, "Stream and branches")
    assert "Stream and branch by depth" not in charts(page)
    pressed(page, "Post-mortem")  # which is no use yet: a browser may say anything
    assert page.session_state["instrument"] is None


def test_closed_instruments_ask_for_nothing_and_draw_nothing(asked):
    page = playground(**SMALL)
    rests(page, 1)
    rests(page)
    assert {question for question, _ in asked} <= {"profile"}
    assert not set(MEASURED) & {question for question, _ in asked}


def test_an_open_instrument_asks_for_itself_alone_and_a_closed_one_no_more(asked):
    page = opened(playground(**SMALL), "Stream and branches")
    assert {question for question, _ in asked} <= {"profile", "stream"}
    before = len(charts(page))
    asked.clear()
    page.session_state["instrument"] = None
    rests(page, 1)
    assert "stream" not in {question for question, _ in asked}
    assert len(charts(page)) == before - 3


def test_an_instrument_measures_the_step_shown_and_the_net_after_the_last_update_at_the_end(asked):
    page = opened(playground(**SMALL), "Stream and branches")
    rests(page, 1)
    assert "Measured at step 1." in words(page)
    rests(page)
    assert "Measured at step 40." in words(page)


def test_while_a_run_plays_what_was_measured_stays_and_the_trainer_is_left_alone(asked):
    page = opened(playground(**SMALL, seed="5"), "Stream and branches")
    asked.clear()
    rests(page, 3, playing=True)
    assert "Measured at step 0; pause to measure the step shown." in words(page)
    assert not [question for question, _ in asked if question in MEASURED]


def test_an_instrument_opened_while_a_run_plays_waits_for_a_pause_and_trains_no_second_run(asked):
    page = playground(**SMALL, seed="6")
    rests(page, 3, playing=True)
    asked.clear()
    opened(page, "Stream and branches")
    assert "Pause to measure the step shown." in words(page)
    assert not [question for question, _ in asked if question in MEASURED]
    rests(page, 5)
    assert "Measured at step 5." in words(page)


def test_what_was_measured_of_another_network_is_never_taken_for_this_one():
    page = opened(playground(**SMALL), "Stream and branches")
    sites = len(charts(page)["Stream and branch by depth"]["data"][0]["bind"]["values"])
    page.slider(key="depth").set_value(6)
    sound(page.run())
    assert sites == 5
    assert len(charts(page)["Stream and branch by depth"]["data"][0]["bind"]["values"]) == 7


def test_an_error_of_the_trainer_is_a_sentence_in_the_panel(monkeypatch):
    def broken(replays, cfg, **args):
        raise ValueError("width is 7; legal is another")
        yield 0.0

    monkeypatch.setitem(MEASURED, "stream", broken)
    page = opened(playground(**SMALL, seed="77"), "Stream and branches")
    assert "Width is 7; legal is another." in words(page)
