"""Plans and questions of a teacher's: what a text names, and a sentence for each entry that names nothing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.content import FOLDER
from models.lessons.plan import Plan, PlannedStop, plan_from, prepared_plans
from models.lessons.questions import Bars, OwnQuestion, question_from
from models.lessons.stops import PAGES, page_of, poll_of, questions_of, read_stop, stop_from
from models.spec.bounds import MAX_NOTE_CHARS, MAX_STOP_CHARS, MAX_STOPS

WRITTEN = """# Depth

start, 6 min
> Ask first,
> then reveal.
? Which do you know?, 2 min
- layer norm
* <b>both</b>
https://host/base/compare?a=depth%3D4&lang=zh&key=SECRET&class=ABCD&view=projector
"""
TEXT = st.text(max_size=200) | st.lists(st.sampled_from(["?", "-", "*", "=", ">", "#", "start", ", 5 min", "\n"])).map(
    "".join
)


@given(TEXT)
def test_any_text_gives_a_plan_of_legal_stops(text: str) -> None:
    plan = plan_from(text)
    assert all(stop_from(stop) == stop and len(stop) <= MAX_STOP_CHARS for stop in plan.stops)
    assert len(set(plan.stops)) == len(plan.stops) <= MAX_STOPS
    assert all(len(entry.note) <= MAX_NOTE_CHARS for entry in plan.entries)
    for written in (plan.text, plan.link):
        assert plan_from(written) == Plan(plan.entries, plan.title), "what is written is read again"


def test_a_plan_written_by_hand_has_notes_minutes_and_questions() -> None:
    plan = plan_from(WRITTEN)
    question = "? Which do you know?\n- layer norm\n* <b>both</b>"
    assert (plan.title, plan.faults, plan.minutes) == ("Depth", (), 8)
    assert plan.entries == (
        PlannedStop("start", 6, "Ask first, then reveal."),
        PlannedStop(question, 2),
        PlannedStop("compare?a=depth%3D4"),
    )
    assert (page_of(question), poll_of(question).right) == (("question", {}), "<b>both</b>")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("start,compare2", "Stop 2: “compare2” is no page, lesson or question; it is left out."),
        ("start\nclaims?claim=nobody", "Stop 2, line 2: there is no claim “nobody”; it is left out."),
        ("start\nlessons?lesson=nobody", "Stop 2, line 2: there is no lesson “nobody”; it is left out."),
        ("start\npapers?paper=nobody", "Stop 2, line 2: there is no paper “nobody”; it is left out."),
        ("start\nstory?scene=9", "Stop 2, line 2: there is no scene “9”; it is left out."),
        ("start\nteacher", "Stop 2, line 2: “teacher” is no page, lesson or question; it is left out."),
        ("start\nstart", "Stop 2, line 2: it is in the plan already; it is left out."),
        ("start\nskip\n- 3", "Stop 2, line 2: “- 3” is an option without a question above it, which begins with ?"),
        ("start\n? Why?", "Stop 2, line 2: the question has no options; a line with = alone asks for a number"),
        ("start\n? Why?\n- one", "Stop 2, line 2: a question has two to 5 options, or none for a number"),
        ("start\n? Why?\n= many", "Stop 2, line 2: “many” is not a number; it is left out."),
        ("start\nplayground?depth=x", "Stop 2, line 2: Depth x is not a number from 1 to 128: 32 instead."),
        ("start\nskip, 999 min", "Stop 2, line 2: it takes at most 240 minutes."),
    ],
)
def test_an_entry_that_names_nothing_is_refused_by_number(text: str, fault: str) -> None:
    plan = plan_from(text)
    assert [one for one in plan.faults if one.startswith(fault)] == list(plan.faults) != []
    assert plan.stops[0] == "start"


def test_every_page_with_its_settings_is_a_stop() -> None:
    for page in PAGES - {"navigation", "teacher", "question"}:
        assert page_of(stop_from(f"https://host/base/{page}?token=1%2C2&lang=zh"))[0] == page
    assert read_stop("https://host/attention?part=heads&wish=2&class=ABCD") == ("attention?part=heads&wish=2", "")
    assert read_stop("https://host/base/?class=ABCD")[0] == "start"
    assert questions_of("claims?claim=doubles") == ("claims?claim=doubles",)
    assert stop_from("a?" + "&" * 1900) == ""


def test_numbers_are_counted_in_bars_that_hold_them_all() -> None:
    poll = OwnQuestion("How many?", (), "96")
    assert Bars(poll, ["12", "96", "12"]).counts() == {"12": 2, "96": 1}
    many = [str(number) for number in range(0, 200, 7)] + ["1000000000000", "-5"]
    bars = Bars(poll, many)
    assert sum(bars.counts().values()) == len(many)
    assert len(bars.counts()) <= 8
    assert bars.label("96") == "50 to below 100"
    assert question_from("? Layers?\n= 1,000").right == "1000"
    for wrong in ("nan", "inf", "1e13", "1_0", "", "x" * 99):
        with pytest.raises(ValueError, match=r"number|size"):
            question_from(f"? Layers?\n= {wrong or 'x'}")


def test_a_number_with_more_digits_counts_as_right() -> None:
    bars = Bars(OwnQuestion("0.9 to the power of 32?", (), "0.034"), ["0.0343", "0.03434", "0.03", "0.0345", "34"])
    assert bars.counts() == {"0.03": 1, "0.034": 2, "0.0345": 1, "34": 1}
    assert bars.label("0.0343") == bars.label("0.034") == "0.034"
    assert Bars(OwnQuestion("Small?", (), "1e-05"), ["1.04e-05", "1000000000000"]).counts()["1e-05"] == 1


@pytest.mark.parametrize(("title", "minutes"), [("A lecture of 45 minutes", 45), ("A seminar of 90 minutes", 90)])
def test_plans_that_come_with_the_app_fill_their_time(title: str, minutes: int) -> None:
    plan = plan_from(next(text for name, text in prepared_plans().items() if name.startswith(title)))
    assert (plan.faults, plan.minutes) == ((), minutes)
    assert all(entry.note and entry.minutes for entry in plan.entries)


def test_the_plan_in_the_manual_is_one() -> None:
    (written,) = re.findall(
        r"```\n(# .*?)```", (FOLDER.parents[1] / "docs" / "classroom.md").read_text("utf-8"), re.DOTALL
    )
    plan = plan_from(written)
    assert (plan.faults, len(plan.entries), plan.minutes) == ((), 4, 12)
