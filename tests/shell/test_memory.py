"""What a browser remembers, as the server hears it: input like any other, of which only what can be is taken."""

import json

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState

from components.lessons.progress import ENTRY
from components.shell import memory, tour
from models.lessons import board
from models.lessons.lessons import LESSONS
from tests.app_page import address, by_link, press, sound, words

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")
LESSON = "final"
GUESS = LESSONS[LESSON].options[0]


def told(page):
    """What the page tells the browser to remember, and whether it asks."""
    return json.loads(component(page).json)


def component(page):
    (found,) = [one.proto for one in page.get("bidi_component") if '"maxCharacters"' in one.proto.json]
    return found


def remembers(page, said):
    """The page after the browser has said what it remembers."""
    return spoken(page, "kept", said)


def spoken(page, what, said):
    states = page._tree.get_widget_states()
    states.widgets.append(WidgetState(id=component(page).id, json_value=json.dumps({what: said})))
    page._run(states)
    return sound(page)


def lessons(**query):
    return by_link("lessons.py", lesson=LESSON, **query)


def test_who_only_looks_leaves_nothing_to_remember():
    for page in (by_link("start.py"), by_link("story.py"), lessons()):
        assert told(page)["entries"] == {}


def test_a_guess_is_given_to_the_browser_and_taken_back_from_it():
    page = lessons()
    assert told(page)["asks"]
    page.radio(key=f"lesson_{LESSON}_guess").set_value(GUESS).run()
    sound(page.button(key=f"lesson_{LESSON}_guess_settle").click().run())
    kept = told(page)["entries"]
    assert kept[ENTRY.format(LESSON)]["guess"] == GUESS
    assert kept["tour.lesson"] is True
    again = remembers(lessons(), kept)
    assert f"1 of {len(LESSONS)} guessed, 0 solved" in words(again)
    assert not told(again)["asks"], "it has heard"
    assert told(again)["entries"] == {}, "nothing is new"


def test_what_is_guessed_again_stays_so():
    page = remembers(
        lessons(), {ENTRY.format(LESSON): {"guess": GUESS, "watched": False, "right": None, "passed": None}}
    )
    sound(page.button(key=f"lesson_{LESSON}_guess_again").click().run())
    assert f"0 of {len(LESSONS)} guessed" in words(page)
    assert told(page)["entries"][ENTRY.format(LESSON)]["guess"] == ""


@pytest.mark.parametrize(
    "said",
    [
        None,
        7,
        "lesson.final",
        [["lesson.final", {}]],
        {ENTRY.format(LESSON): "guessed"},
        {ENTRY.format(LESSON): {"guess": "<b>something else</b>", "watched": True, "right": True, "passed": 1}},
        {ENTRY.format(LESSON): {"guess": [GUESS], "passed": []}},
        {ENTRY.format("nonsense"): {"guess": GUESS}},
        {str(number): {} for number in range(1000)},
        {ENTRY.format(LESSON): {"guess": GUESS}} | {"long": "x" * memory.MAX_CHARACTERS},
    ],
)
def test_what_cannot_be_remembered_is_left_out(said):
    page = remembers(lessons(), said)
    assert f"0 of {len(LESSONS)} guessed, 0 solved" in words(page)


def test_a_solution_that_comes_from_a_browser_is_a_configuration_like_any_other():
    passed = {"depth": "999999", "init": "<script>", "nonsense": "x" * 5000}
    page = remembers(lessons(), {ENTRY.format(LESSON): {"guess": GUESS, "passed": passed}})
    assert f"1 of {len(LESSONS)} guessed, 1 solved" in words(page)
    assert not any(one in page.code[-1].value for one in ("999999", "script", "nonsense"))


def test_each_step_of_the_tour_leads_to_its_page_and_no_other_name_does():
    for name, stop in tour.STOPS.items():
        page = spoken(by_link("start.py"), "go", name)
        assert address(page).items() >= stop.query.items()
        steps = told(page)["tour"]
        assert steps["names"][steps["at"]] == name
    for nonsense in ("glossary", None, 3, {"start": 1}):
        page = spoken(by_link("start.py"), "go", nonsense)
        assert told(page)["tour"]["at"] == 0


def test_no_tour_where_somebody_else_leads():
    assert told(by_link("start.py", hide="verdict"))["tour"] is None
    assert told(by_link("start.py", view="projector"))["tour"] is None
    assert told(by_link("glossary.py"))["tour"] is None


def test_a_class_is_led_by_its_teacher_alone_and_leaves_nothing_in_a_browser(monkeypatch):
    monkeypatch.setattr(board, "_board", board.Board())
    _, key, _ = board.board().open("", "ABCD")
    board.board().show("ABCD", key, LESSON)
    page = by_link("start.py", **{"class": "ABCD"})
    page.session_state[memory.MEMORY_NEW.name] = {"tour.break": True}
    press(page, GUESS)
    assert f"Your guess is in: **{GUESS}**" in words(page)
    assert (told(page)["tour"], told(page)["asks"], told(page)["entries"]) == (None, False, {})


def test_all_that_can_be_remembered_has_room():
    most = {
        ENTRY.format(key): {"guess": max(one.options, key=len), "watched": True, "right": False, "passed": {}}
        for key, one in LESSONS.items()
    }
    assert len(most) + len(tour.STOPS) + 1 <= memory.MAX_ENTRIES
    assert 4 * len(json.dumps(most)) < memory.MAX_CHARACTERS
