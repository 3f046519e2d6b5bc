"""A class in its pages: they go where the teacher leads, nothing answers before Reveal, and deleting can be undone."""

import asyncio
import csv
import io
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.types import Message
from starlette.websockets import WebSocket
from streamlit.testing.v1 import AppTest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from components.classroom import answers as answers_of_nets
from components.classroom import following, route
from components.classroom.following import CLASS_SCREEN, MEMBER_COOKIE, PROJECTOR, STUDENT, TEACHER, key_cookie
from components.player.view import View, views_at
from components.server.connection import REFUSED
from components.server.tickets import TICKETS
from components.shell.waiting import WAITS
from components.start.cells import CELLS, SHOWN_CELLS
from components.teacher.page import results_csv
from components.teacher.seat import SEAT
from components.teacher.worksheet import worksheet
from models.insight.path_outcome import FLY, MERGE, PATH_OUTCOMES
from models.lessons import board as module
from models.lessons.board import Board, is_valid_member
from models.lessons.lessons import LESSONS
from models.lessons.plan import DEFAULT_PLAN, plan_from, prepared_plans
from models.lessons.stops import START_POLLS, page_of, playground_stop, poll_of, questions_of
from models.service.client import Requester, key_of, trainer
from models.spec import RunConfig
from models.spec.bounds import MAX_CLASSES_PER_ADDRESS, MAX_WRONG_CODES
from models.spec.limits import CLASS_PASSWORD
from models.spec.query import escape_markdown
from tests.app_page import (
    APP,
    PATIENCE,
    address,
    back,
    by_link,
    charts,
    configuration,
    labels,
    press,
    sound,
    walk,
    words,
)
from tests.load.server import free_port
from tests.player_page import declared, panels, says
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

LESSON = "final"  # whose nets train quickly
OPTIONS = LESSONS[LESSON].options
CODE = "ABCD"


@pytest.fixture(autouse=True)
def board(monkeypatch: pytest.MonkeyPatch) -> Board:
    """A board of this test's own."""
    made = Board()
    monkeypatch.setattr(module, "_board", made)
    return made


@pytest.fixture
def key(board: Board) -> str:
    """Of the class CODE, which is shown LESSON."""
    _, key, _ = board.open("", CODE)
    board.show(CODE, key, LESSON)
    return key


def joined(**query: str) -> AppTest:
    """A student's page, by the shortest link into the class, after it has gone where the class is."""
    page = AppTest.from_file(APP, default_timeout=PATIENCE)
    for name, value in {"class": CODE, **query}.items():
        page.query_params[name] = value
    return sound(page.run())


def wall() -> AppTest:
    return joined(view="projector")


def desk(**query: str) -> AppTest:
    return by_link("teacher.py", **query)


def titles(page: AppTest) -> list[str]:
    return [one.value for one in page.title]


def disabled(page: AppTest) -> set[str]:
    return {button.label for button in page.button if button.disabled}


def answers(page: AppTest) -> bool:
    """Whether anything on a page answers: a chart, a count by option, the nets."""
    kinds = {data.get("kind") for one in page.get("bidi_component") for data in _panels(one)}
    return bool(charts(page) or bars(page) or kinds or "The class" in words(page))


def bars(page: AppTest) -> list[str]:
    """The options with their numbers of guesses, as far as a page shows them."""
    return [re.sub(r"<[^>]*>", "", one) for one in re.findall(r"<li.*?</li>", html(page))]


def html(page: AppTest) -> str:
    return "".join(one.proto.body for one in page.get("html"))


def _panels(component: object) -> list[dict[str, object]]:
    return list(json.loads(component.proto.json or "{}").get("panels", []))  # type: ignore[attr-defined]


# --- where the class is ---


def test_whoever_joins_comes_where_the_class_is_and_goes_on_with_it(board: Board, key: str) -> None:
    page = joined()
    assert titles(page) == [LESSONS[LESSON].title]
    assert address(page) == {"class": CODE, "lesson": LESSON}
    board.show(CODE, key, "skip")
    assert titles(sound(page.run())) == [LESSONS["skip"].title]
    assert address(page) == {"class": CODE, "lesson": "skip"}
    board.show(CODE, key, LESSON)
    assert titles(sound(page.run())) == [LESSONS[LESSON].title], "back on the same page, by an address it had before"
    board.show(CODE, key, "start")
    assert titles(sound(page.run())) == ["Why do deep networks need Add & Norm?"]
    for depth in (8, 4):
        board.show(CODE, key, f"playground?depth={depth}&steps=40&batch=16&width=16")
        sound(page.run())
        assert configuration(page) == RunConfig(depth=depth, steps=40, batch=16, width=16)
    page.slider(key="depth").set_value(6)
    assert configuration(sound(page.run())).depth == 6, "what a student changes stays until the class goes on"
    board.show(CODE, key, "story-3")
    assert titles(sound(page.run())) == ["The story"]
    assert declared(page)["scene"] == 3
    assert address(page) == {"class": CODE, "scene": "3"}
    board.show(CODE, key, "story-2")
    assert declared(sound(page.run()))["scene"] == 2


def test_nobody_walks_away_until_let_go_and_all_come_back_when_called(board: Board, key: str) -> None:
    page = joined()
    page.switch_page("glossary.py")
    page.query_params.clear()
    assert titles(sound(page.run())) == [LESSONS[LESSON].title]
    assert "lesson_box" not in {one.key for one in page.selectbox}
    board.set_loose(CODE, key, True)
    assert "explore by yourself" in words(sound(page.run()))
    page.switch_page("glossary.py")
    page.query_params.clear()
    assert titles(sound(page.run())) == ["Glossary"]
    assert address(page)["class"] == CODE, "a reload is in the class again"
    board.set_loose(CODE, key, False)
    assert titles(sound(page.run())) == [LESSONS[LESSON].title]
    board.close(CODE, key)
    assert f"Class {CODE} has ended" in words(sound(page.run()))
    assert titles(page) == ["Glossary"]


@pytest.mark.parametrize(
    ("stop", "drawn"),
    [
        ("residual?part=a-whole-block", ["A whole block"]),
        ("residual?part=other-skips", ["Add & norm on a token", "Other skips"]),  # of that token
        ("gradients?part=through-time", ["Through time"]),
    ],
)
def test_a_class_waits_for_no_part_but_its_own(board: Board, key: str, stop: str, drawn: list[str]) -> None:
    board.show(CODE, key, stop)
    assert [tab.label for tab in joined().tabs if tab.children] == drawn
    board.set_loose(CODE, key, True)
    assert all(tab.children for tab in joined().tabs)


@pytest.mark.parametrize("code", ["", "no code", "<b>", "ZZZZ"])
def test_a_code_of_no_class_holds_nobody(code: str) -> None:
    page = by_link("glossary.py", **{"class": code})
    assert titles(page) == ["Glossary"]
    assert ("has ended" in words(page)) == (code == "ZZZZ")


# --- guesses, and nothing that answers before Reveal ---


def test_before_reveal_no_page_answers_and_after_it_every_page_does(board: Board, key: str) -> None:
    student, late, projector = joined(), joined(), wall()
    teacher = desk(**{"class": CODE, "key": key})
    press(student, OPTIONS[2])
    assert f"Your guess is in: **{OPTIONS[2]}**" in words(student)
    press(student, OPTIONS[1])
    for page in (student, late, projector):
        assert not answers(sound(page.run()))
    assert bars(sound(teacher.run())) == [f"{OPTIONS[0]}: 0", f"{OPTIONS[1]}: 1", f"{OPTIONS[2]}: 0"]
    assert board.counts(CODE, LESSON) == {OPTIONS[0]: 0, OPTIONS[1]: 1, OPTIONS[2]: 0}
    press(teacher, "Reveal")
    nets = LESSONS[LESSON].nets.items()
    before = {name: trainer().open_log(cfg, wait=PATIENCE).value.trace() for name, cfg in nets}
    right = LESSONS[LESSON].finding(before, trained=False).answer
    for page in (teacher, student, late, projector):
        found = bars(sound(page.run()))
        assert [one.startswith("✓") for one in found] == [option == right for option in OPTIONS]
        assert f"{OPTIONS[1]}: 1" in found[1]
        assert ("(your guess)" in found[1]) == (page is student)
    for page in (student, late, projector):
        assert "The class guessed" in words(page)
        assert set(charts(page)) >= {"Loss"}
        assert declared(page)["start"], "the nets play by themselves"
        assert not [label for label in labels(page) if label in OPTIONS]
    assert (declared(projector).get("speed"), declared(student).get("speed")) == ("25 steps/s", None)


def test_the_right_bar_is_marked_though_the_nets_were_measured_while_the_page_was_drawn(
    board: Board, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    board.reveal(CODE, key)
    asked: list[list[RunConfig]] = []

    def late(cfgs: list[RunConfig]) -> list[tuple[View | None, bool]]:
        asked.append(cfgs)
        return [(None, True)] * len(cfgs) if len(asked) == 1 else views_at(cfgs)

    monkeypatch.setattr(answers_of_nets, "views_at", late)
    page = joined()
    assert [one for one in bars(page) if one.startswith("✓")]
    assert "The answer is" in words(page)


def test_the_teachers_page_alone_says_the_right_answer_before_reveal(
    board: Board, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[str] = []
    monkeypatch.setattr(answers_of_nets, "right_option", lambda question: (known or [""])[0])
    teacher = desk(**{"class": CODE, "key": key})
    waits = WAITS.of("class_results").name
    assert teacher.session_state[waits][0]
    known.append(OPTIONS[1])
    assert f"Right answer: **{OPTIONS[1]}**" in words(sound(teacher.run()))
    assert not [one for one in bars(teacher) if one.startswith("✓")]
    assert f"Right answer: **{OPTIONS[1]}**" not in words(joined())
    known.clear()
    press(teacher, "Reveal")
    assert teacher.session_state[waits][0]
    known.append(OPTIONS[1])
    assert [one.startswith("✓") for one in bars(sound(teacher.run()))] == [False, True, False]


@pytest.mark.parametrize(
    ("stop", "leads"), [("placement", True), ("claims?claim=warm-up", True), ("claims?claim=warm-up", False)]
)
def test_what_the_class_has_left_trains_no_longer(board: Board, key: str, stop: str, leads: bool) -> None:
    board.show(CODE, key, stop)
    if not leads:
        board.reveal(CODE, key)
    page = sound((desk(**{"class": CODE, "key": key}) if leads else joined()).run())
    assert trainer()._results.requested
    board.show(CODE, key, "claims?claim=by-hand" if leads else "compare")
    sound(page.run())
    assert not trainer()._results.requested


def test_start_is_guessed_net_by_net_and_then_its_picture_plays_all_four(board: Board, key: str) -> None:
    board.show(CODE, key, "start")
    student, projector = joined(), wall()
    for page in (student, projector):
        assert not charts(page)
        assert "The class" not in words(page)
        (paths,) = panels(page, "paths").values()
        assert paths["labels"] == [CELLS[at].title for at in SHOWN_CELLS]
        assert [run["link"] for run in declared(page)["runs"]] == [key_of(CELLS[at].cfg) for at in SHOWN_CELLS]
    for question, option in zip(START_POLLS, (FLY, MERGE), strict=True):
        student.button(key=f"class_guess_{question}_{PATH_OUTCOMES.index(option)}").click()
        sound(student.run())
    board.reveal(CODE, key)
    for page in (student, projector):
        shown = [one for one in bars(sound(page.run())) if "✓" in one]  # each its own outcome, as its disc says
        assert [one.removesuffix(" (your guess)") for one in shown] == [f"✓ {FLY}: 1", f"✓ {MERGE}: 1"]
        (paths,) = panels(page, "paths").values()
        assert (len(paths["runs"]), paths["quiz_runs"]) == (4, [])
    assert [one for one in bars(student) if "your guess" in one] == [
        f"✓ {FLY}: 1 (your guess)",
        f"✓ {MERGE}: 1 (your guess)",
    ]


def test_a_wall_stays_with_what_is_shown_while_everybody_is_on_their_own(board: Board, key: str) -> None:
    student, projector = joined(), wall()
    board.set_loose(CODE, key, True)
    assert "explore by yourself until" in words(sound(student.run()))
    assert "explore by yourself" not in words(sound(projector.run()))
    assert "This is my guess" not in labels(projector)


def test_a_guess_outlives_a_reload_where_the_browser_says_whose_it_is(
    board: Board, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {MEMBER_COOKIE: "0123456789abcdef"}
    monkeypatch.setattr("components.shell.visitor.cookie", lambda name: said.get(name, ""))
    press(joined(), OPTIONS[0])
    again = joined()
    assert f"Your guess is in: **{OPTIONS[0]}**" in words(again)
    press(again, OPTIONS[1])
    assert sum((board.counts(CODE, LESSON) or {}).values()) == 1


def test_a_projector_leads_by_keys_only_where_the_browser_has_the_classs_key(
    board: Board, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {key_cookie(CODE): "wrong"}
    monkeypatch.setattr("components.shell.visitor.cookie", lambda name: said.get(name, ""))
    assert following.HINT not in html(wall())
    said[key_cookie(CODE)] = key
    shown, student = html(wall()), html(joined())
    assert following.HINT in shown
    assert following.HINT not in student, "the teacher's browser as a student's"
    assert "class-numbers" in shown, "a place for how many are here and have answered"
    assert "class-over" in shown, "the way to join, for Q"
    assert "class-over" not in student


def test_the_projectors_keys_lead_a_class_through_the_scenes(
    board: Board, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {key_cookie(CODE): "wrong"}
    monkeypatch.setattr("components.shell.visitor.cookie", lambda name: said.get(name, ""))
    board.show(CODE, key, "story-2")
    student = joined()
    for cookie, shown in (("wrong", "story-2"), (key, "story-3")):
        said[key_cookie(CODE)] = cookie
        sound(says(wall(), {"scene": 3}).run())
        assert board.state_of(CODE).stop == shown  # type: ignore[union-attr]
    assert declared(sound(student.run()))["scene"] == 3
    sound(says(student, {"scene": 5}).run())
    assert board.state_of(CODE).stop == "story-3", "a student leads nobody"  # type: ignore[union-attr]


def test_a_lessons_key_is_on_the_teachers_page_alone(board: Board, key: str) -> None:
    board.show(CODE, key, "vanishing")
    assert "A key to the challenge: init gain 1.19." in words(desk(**{"class": CODE, "key": key}))
    assert "key to the challenge" not in words(joined()) + words(wall())


def test_a_claim_is_voted_on_and_its_experiment_judges_the_votes(board: Board, key: str) -> None:
    board.show(CODE, key, "claims?claim=by-hand")
    student, projector, teacher = joined(), wall(), desk(**{"class": CODE, "key": key})
    press(student, "true only if ...")
    for page in (student, projector):
        assert not answers(sound(page.run()))
        assert "layer norm" in words(page)
    right = re.search(r"Right answer: \*\*(.*)\*\*", words(sound(teacher.run())))
    assert right
    press(teacher, "Reveal")
    for page in (student, projector, teacher):
        votes = bars(sound(page.run()))
        assert [vote for vote in votes if vote.startswith(f"✓ {right[1]}: ")]
        assert [vote for vote in votes if "true only if ...: 1" in vote]
    assert "claim" in words(student)


HOSTILE = "<img src=x onerror=alert(1)> **[a](http://b)**"


def test_exceptions_follow_the_depth_of_a_driven_net(board: Board, key: str) -> None:
    for before, after in (
        (RunConfig.arranged("Mix-LN", depth=24), RunConfig.arranged("Mix-LN", depth=8)),
        (
            RunConfig(depth=24, overrides=((2, "norm", "none"), (9, "norm", "none"))),
            RunConfig(depth=8, overrides=((2, "norm", "none"),)),
        ),
    ):
        board.show(CODE, key, playground_stop(before))
        teacher = desk(**{"class": CODE, "key": key})
        teacher.number_input(key="drive_depth").set_value(8)
        sound(teacher.run())
        assert board.state_of(CODE).stop == playground_stop(after)  # type: ignore[union-attr]


def test_a_question_of_the_teachers_is_text_on_every_page(board: Board, key: str) -> None:
    teacher = desk(**{"class": CODE, "key": key})
    teacher.text_input(key="teacher_question").set_value(HOSTILE)
    teacher.text_area(key="teacher_options").set_value(f"{HOSTILE} 1\n* {HOSTILE} 2")
    press(sound(teacher.run()), "Ask it now")
    student, projector = joined(), wall()
    assert address(student) == {"class": CODE}, "the question is on the board, not in an address"
    press(student, escape_markdown(f"{HOSTILE} 2"))
    for page in (student, projector, teacher):
        assert HOSTILE not in words(sound(page.run())) + html(page)
        assert escape_markdown(HOSTILE) in words(page) + "".join(titles(page))
    board.reveal(CODE, key)
    for page in (student, projector, teacher):
        assert bars(sound(page.run()))[1].startswith("✓ &lt;img")
        assert "<img src=x" not in html(page)
    rows = list(csv.DictReader(io.StringIO(results_csv(CODE))))
    assert [(row["option"], row["guesses"], row["right answer"]) for row in rows] == [
        (f"{HOSTILE} 1", "0", f"{HOSTILE} 2"),
        (f"{HOSTILE} 2", "1", f"{HOSTILE} 2"),
    ]
    teacher.text_input(key="teacher_question").set_value("Why?")
    teacher.text_area(key="teacher_options").set_value("one")
    assert "two to 5 options" in words(press(sound(teacher.run()), "Ask it now"))


def test_a_number_is_asked_for_and_its_answers_are_bars(board: Board, key: str) -> None:
    board.show(CODE, key, "? How many?\n= 96")
    student = joined()
    for text, said in (("many", "is not a number"), ("1,000", "Your guess is in: **1000**")):
        student.text_input[0].set_value(text)
        assert said in words(press(sound(student.run()), "Send"))
    board.reveal(CODE, key)
    assert bars(sound(student.run())) == ["✓ 96: 0", "1000: 1 (your guess)"]


def test_no_cell_of_the_results_begins_like_a_formula(board: Board, key: str) -> None:
    board.show(CODE, key, "? =1+1\n- +2\n* -3\n- @SUM(A1)")
    board.reveal(CODE, key)
    cells = list(csv.reader(io.StringIO(results_csv(CODE))))
    assert [row[3] for row in cells[1:]] == ["'+2", "'-3", "'@SUM(A1)"]
    assert not [cell for row in cells for cell in row if cell[:1] in ("=", "+", "-", "@")]


def test_every_stop_of_the_plans_that_come_with_the_app_is_shown(board: Board, key: str) -> None:
    student, projector = joined(), wall()
    for text in prepared_plans().values():
        board.set_plan(CODE, key, text)
        for entry in plan_from(text).entries:
            board.show(CODE, key, entry.stop)
            for page in (student, projector):
                assert not sound(page.run()).error
                assert entry.note not in words(page)
                assert all(len(poll_of(one).options) != 1 for one in questions_of(entry.stop))
            assert address(student).items() <= ({"class": CODE} | page_of(entry.stop)[1]).items()
            assert desk(**{"class": CODE, "key": key}).info[0].value == escape_markdown(entry.note)


@pytest.mark.parametrize("text", prepared_plans().values(), ids=prepared_plans())
def test_a_worksheet_asks_all_and_answers_nothing(text: str) -> None:
    plan = plan_from(f"{text}\n? Which <b>one</b>?\n- this\n* `th**a**t`\n\nplayground?depth=8\n\ncompare")
    page = worksheet(plan.title, plan.stops)
    assert "<b>one</b>" not in page
    assert "<script" not in page
    for stop in plan.stops:
        for question in questions_of(stop):
            assert all(f"<li>{escape(option)}</li>" in page for option in poll_of(question).options), question
    asked = sum(len(questions_of(stop)) or 1 for stop in plan.stops)
    assert page.count('class="room"') == asked
    assert page.count("<svg") >= 10
    assert not [one.note for one in plan.entries if one.note and escape(one.note) in page]
    assert "0.034" not in page, "the right answer of a question of the plan"


# --- the Teacher page ---


def test_a_class_is_opened_led_cleared_and_closed_and_both_can_be_undone(board: Board) -> None:
    page = press(desk(), "Open a class")
    code, key = address(page)["class"], address(page)["key"]
    assert board.keep_alive(code, key)
    assert f"/join</b> with the code <b>{code}</b>" in html(page)
    assert disabled(page) >= {"Back"}
    press(page, "Next")
    assert board.state_of(code).stop == DEFAULT_PLAN[1]  # type: ignore[union-attr]
    board.guess(code, DEFAULT_PLAN[1], "one", LESSONS[DEFAULT_PLAN[1]].options[0])
    press(page, "Reveal")
    press(page, "Delete them")
    assert "Reveal" not in disabled(page)
    press(page, "Undo: bring the guesses back")
    assert sum((board.counts(code, DEFAULT_PLAN[1]) or {}).values()) == 1
    press(page, "Let students explore")
    assert "students are exploring" in words(page)
    press(page, "Call back")
    press(page, "Close it")
    assert board.state_of(code) is None
    assert f"Class {code} is closed" in words(page)
    press(page, "Undo: open it again")
    assert sum((board.counts(code, DEFAULT_PLAN[1]) or {}).values()) == 1
    assert "Reveal" in labels(page)


def test_the_plan_is_in_the_address_and_the_class_is_opened_with_it(board: Board) -> None:
    page = desk(plan="skip,playground?depth=4,start")
    page.text_area(key="teacher_plan").set_value("skip\n\nplayground?depth=4\n\ngates")
    sound(page.run())
    assert address(page)["plan"] == "skip,playground?depth=4,gates"
    again = press(desk(**address(page)), "Open a class")
    code = address(again)["class"]
    assert board.state_of(code).plan == ("skip", "playground?depth=4", "gates")  # type: ignore[union-attr]
    again.selectbox(key="teacher_shown").set_value("story-4")
    press(sound(again.run()), "Show it to the class")
    assert board.state_of(code).stop == "story-4"  # type: ignore[union-attr]
    assert {"Reveal"} <= disabled(again), "there is nothing to guess"


def test_a_stop_added_on_another_page_outlives_the_way_back() -> None:
    for way in ("navigation", "Back"):
        page = desk(plan="start")
        before = address(page)
        page = walk(page, "compare.py")
        page.session_state["teacher_plan_text"] = "start\n\ncompare"  # as "Add to the plan" does
        page.switch_page("teacher.py")
        page = back(page, **before) if way == "Back" else walk(page, "teacher.py")
        assert page.text_area(key="teacher_plan").value == "start\n\ncompare"
        assert address(page)["plan"] == "start,compare"


@pytest.mark.parametrize("link", [f"/?{key}={quote(HOSTILE)}" for key in ("search", "claim")], ids=["added", "refused"])
def test_what_is_added_is_said_as_text(link: str) -> None:
    def page(link: str) -> None:
        from components.classroom import desk

        desk._add_page("claims", link)

    (toast,) = sound(AppTest.from_function(page, args=(link,), default_timeout=PATIENCE).run()).toast
    assert escape_markdown(HOSTILE)[:35] in toast.value


def test_an_address_alone_opens_no_class_and_its_key_is_no_strangers(board: Board, key: str) -> None:
    forged = desk(**{"class": CODE, "key": "guess"})
    assert f"Class {CODE} has ended" in words(forged)
    assert "Reveal" not in labels(forged)
    known = desk(**{"class": "WXYZ", "key": "known-to-a-stranger"})
    assert board.state_of("WXYZ") is None
    press(known, "Open a class")
    assert address(known)["class"] == "WXYZ"
    assert not board.keep_alive("WXYZ", "known-to-a-stranger")
    again = desk(**address(known))
    assert "Reveal" in labels(again)
    again.switch_page("glossary.py")
    again.query_params.clear()
    assert titles(sound(again.run())) == ["Glossary"], "the teacher goes where they like"
    again.switch_page("teacher.py")
    again.query_params.clear()
    assert "Reveal" in labels(sound(again.run()))


def test_where_the_operator_has_set_a_password_a_class_is_opened_with_it_alone(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert "teacher_password" not in {one.key for one in desk().text_input}
    monkeypatch.setenv(CLASS_PASSWORD, "réservé")
    for wrong in ("", "reserve", "réservé2"):
        page = desk()
        page.text_input(key="teacher_password").set_value(wrong)
        assert "not this server's password" in words(press(sound(page.run()), "Open a class"))
    page.text_input(key="teacher_password").set_value("réservé")
    assert "Reveal" in labels(press(sound(page.run()), "Open a class"))
    assert set(address(page)) == {"class", "key"}
    assert "serv" not in capfd.readouterr().err


def test_behind_a_proxy_that_seats_a_class_together_its_page_is_loaded_with_the_code_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = {SEAT: "another"}
    monkeypatch.setattr("components.shell.visitor.cookie", lambda name: said.get(name, ""))
    page = desk(plan="skip")
    (link,) = [json.loads(one.proto.json)["link"] for one in page.get("bidi_component") if "teacher?" in one.proto.json]
    assert "Open a class" not in labels(page)
    query = dict(parse_qsl(urlsplit(link).query))
    opened = press(desk(**query), "Open a class")
    assert (address(opened)["class"], address(opened)["plan"]) == (query["class"], "skip")


# --- the ways in ---


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=route.routes()), follow_redirects=False)


def test_join_leads_to_the_class_or_asks(client: TestClient, board: Board, key: str) -> None:
    asked = client.get("/join")
    assert (asked.status_code, "Code of your class" in asked.text, "No class" in asked.text) == (200, True, False)
    assert "No class with this code is open" in client.get("/join", params={"c": '"><script>'}).text
    assert "<script>" not in client.get("/join", params={"c": '"><script>'}).text
    spelled = client.get("/join", params={"c": "ab cd"})
    assert (spelled.status_code, spelled.headers["location"]) == (303, f"/join?c={CODE}")
    led = client.get("/join", params={"c": CODE})
    assert led.headers["location"] == f"/lessons?lesson={LESSON}&class={CODE}"
    assert is_valid_member(led.cookies[MEMBER_COOKIE])
    assert key_cookie(CODE) not in led.cookies
    assert "httponly" in led.headers["set-cookie"].lower()
    assert MEMBER_COOKIE not in client.get("/join", params={"c": CODE}).cookies, "a browser keeps its place"
    assert "view" not in client.get("/join", params={"c": CODE, "key": "wrong"}).headers["location"]
    shown = client.get("/join", params={"c": CODE, "key": key})
    assert shown.headers["location"] == f"/lessons?lesson={LESSON}&class={CODE}&view=projector#{CODE}.{key}"
    assert shown.cookies[key_cookie(CODE)] == key
    _, other, _ = board.open("", "WXYZ")
    client.get("/join", params={"c": "WXYZ", "key": other})
    assert client.cookies[key_cookie(CODE)] == key, "another class's link leaves the projector its key"


def test_wrong_codes_by_the_short_address_bar_that_browser_alone(
    client: TestClient, board: Board, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = module.CODE_LETTERS
    for at in range(MAX_WRONG_CODES + 1):  # the first one's answer says who it is
        tried = client.get("/join", params={"c": f"ZZ{letters[at // 20]}{letters[at % 20]}"})
        assert module.NO_SUCH_CLASS in tried.text
    for code in (CODE, "ZYXW"):
        assert module.TOO_MANY_WRONG_CODES in client.get("/join", params={"c": code}).text
    with TestClient(client.app, follow_redirects=False) as classmate:
        assert classmate.get("/join", params={"c": CODE}).status_code == 303
    with monkeypatch.context() as patched:
        patched.setattr("components.shell.visitor.cookie", lambda name: client.cookies.get(name, ""))
        page = by_link("glossary.py", **{"class": CODE})
        assert titles(page) == ["Glossary"]
        assert module.TOO_MANY_WRONG_CODES in words(page)
    assert titles(joined()) == [LESSONS[LESSON].title]


@pytest.fixture
def url() -> Iterator[str]:
    """A server of the routes alone, in this process."""
    port = free_port()
    told = uvicorn.Config(Starlette(routes=route.routes()), host="127.0.0.1", port=port, log_level="error")
    server = uvicorn.Server(told)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started, "the server")
    yield f"ws://127.0.0.1:{port}/class"
    server.should_exit = True
    thread.join()


@contextmanager
def connected(url: str, who: str, session: str, code: str = CODE) -> Iterator[ClientConnection]:
    """The connection of a page, which has said hello."""
    ticket = TICKETS.issue(Requester(session, CLASS_SCREEN, who, frozenset({code}), "address"))
    with connect(url) as connection:
        connection.send(json.dumps({"class": code, "ticket": ticket}))
        yield connection


def heard(connection: ClientConnection, **last: object) -> None:
    """Waits until a page has heard so; what comes before may lack some of it."""
    while json.loads(connection.recv(timeout=PATIENCE)) != last:
        pass


def test_pages_hear_when_the_class_is_led_and_only_the_desk_hears_what_is_guessed(
    url: str, board: Board, key: str
) -> None:
    version = board.state_of(CODE).version  # type: ignore[union-attr]
    with (
        connected(url, STUDENT, "one") as pupil,
        connected(url, STUDENT, "one"),
        connected(url, TEACHER, "two") as teacher,
    ):
        heard(pupil, version=version)
        with connected(url, PROJECTOR, "three") as projector:
            heard(projector, version=version, here=1, attendance="0 of 1 answered")
            board.guess(CODE, LESSON, "one", OPTIONS[1])
            heard(projector, version=version, here=1, attendance="1 of 1 answered")
        guesses = [[[option, int(option == OPTIONS[1])] for option in OPTIONS]]
        heard(teacher, version=version, here=1, attendance="1 of 1 answered", guesses=guesses)
        board.reveal(CODE, key)
        assert json.loads(pupil.recv(timeout=PATIENCE)) == {"version": version + 1}
        heard(teacher, version=version + 1, here=1, attendance="1 of 1 answered", guesses=[])
        board.close(CODE, key)
        heard(pupil, version=0)


def test_classes_that_are_opened_and_left_keep_no_teacher_of_their_network_out(url: str, board: Board) -> None:
    codes = [board.open("school")[0] for _ in range(MAX_CLASSES_PER_ADDRESS)]
    with connected(url, TEACHER, "open", codes[0]) as desk:
        desk.recv(timeout=PATIENCE)
        with connected(url, STUDENT, "one", codes[1]) as joined:
            joined.recv(timeout=PATIENCE)
        until(lambda: board.state_of(codes[1]).here == 0, "that the student is gone")  # type: ignore[union-attr]
        with connected(url, TEACHER, "left", codes[2]) as left:
            left.recv(timeout=PATIENCE)
        until(lambda: board._classes[codes[2]].left, "its end")
        assert board.open("school")[2] == ""
    assert [code for code in codes if board.state_of(code) is None] == [codes[2]]


def test_a_page_gone_before_its_hello_is_no_error(board: Board) -> None:
    messages = iter([{"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1006}])

    async def receive() -> Message:
        return next(messages)

    async def send(message: Message) -> None:
        if message["type"] == "websocket.close":
            raise OSError  # as uvicorn's ClientDisconnected

    async def leave() -> None:
        await route.channel(WebSocket({"type": "websocket", "headers": []}, receive, send))

    asyncio.run(leave())


def test_a_connection_without_a_pages_ticket_hears_nothing(url: str, board: Board, key: str) -> None:
    player = TICKETS.issue(Requester("one", "playground", "player", frozenset(), "address"))
    other = TICKETS.issue(Requester("one", CLASS_SCREEN, TEACHER, frozenset({"WXYZ"}), "address"))
    tickets = [{"class": CODE, "ticket": one} for one in ("forged", player, other)]
    for text in ("{", "[]", "x" * 1000, b"bytes", *map(json.dumps, [*tickets, {"class": CODE}])):
        with connect(url) as stranger:
            stranger.send(text)
            with pytest.raises(ConnectionClosed) as ended:
                stranger.recv(timeout=PATIENCE)
            assert ended.value.rcvd is not None
            assert ended.value.rcvd.code == REFUSED
    assert board.state_of(CODE).here == 0  # type: ignore[union-attr]
