"""What was changed by anybody, at any byte, on a disk or a wire: a decoder gives what it can read, and never fails."""

import json
from base64 import urlsafe_b64encode
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.classroom.route import hello_of
from components.lessons.progress import _from_memory
from components.player import drawn_net
from models.lessons import homework
from models.lessons.board import Board, is_valid_code
from models.lessons.lessons import LESSONS
from models.lessons.stops import poll_of, questions_of
from models.maps.cells import Outcome
from models.maps.store import _read as read_unit
from models.service.wire import line_of, message_of
from models.spec import RunConfig

pytestmark = pytest.mark.full

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all parts of a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in parts for place in places(part, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@st.composite
def changed(draw: st.DrawFn, text: str) -> str:
    """The text with a part replaced, or cut."""
    whole = json.loads(text)
    other = json.dumps(replaced(whole, draw(st.sampled_from(places(whole))), draw(values)))
    return draw(st.sampled_from([other, text[: draw(st.integers(0, len(text)))]]))


MESSAGE = line_of({"kind": "said", "rows": np.arange(3.0), "changes": {"loss": [[0, "Step 0."]]}}).decode()
UNIT = json.dumps(
    {"unit": 3, "seconds": 0.5, "runs": [Outcome("pre-norm", 2.0, 0.1, 0, 1.5, 0.4, None, 2.0, None).to_dict()]}
)


@given(changed(MESSAGE))
def test_a_changed_message_is_one_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert isinstance(message_of(text.encode()), dict)


@given(changed(json.dumps({"class": "ABCD", "ticket": "x" * 32})))
def test_a_changed_hello_has_a_code_or_none(text: str) -> None:
    with suppress(ValueError):
        code, ticket = hello_of(text)
        assert code == "" or is_valid_code(code)
        assert isinstance(ticket, str)


ASKED = {"asked": 3, "depth": 4, "residual": False, "norm": True, "kind": "layer norm", "out": [1], "own": [[2, True]]}


@given(changed(json.dumps(ASKED)), st.sets(st.sampled_from(drawn_net.PARTS)))
def test_a_changed_net_of_a_drawing_is_legal(text: str, parts: set[str]) -> None:
    with suppress(ValueError):
        fields = json.loads(text)
        if isinstance(fields, dict):
            net = drawn_net._asked_net(RunConfig(), fields, norm=str(fields.get("kind")), most=128, parts=parts)
            assert net is None or RunConfig(**vars(net)) == net


STORED = {"guess": LESSONS["vanishing"].options[0], "watched": True, "right": True, "passed": {"depth": "4"}}


@given(changed(json.dumps(STORED)))
def test_changed_progress_of_a_lesson_is_legal(text: str) -> None:
    stored = None
    with suppress(ValueError):
        stored = json.loads(text)
    progress = _from_memory(LESSONS["vanishing"], stored)
    assert progress.guess in ("", *LESSONS["vanishing"].options)
    assert {progress.watched, progress.right} <= {None, True, False}
    assert progress.passed is None or RunConfig.from_query(progress.passed)[0].to_query() == progress.passed


LINK = homework.new_homework("lessons?lesson=vanishing", ("answers",), "nonce")
HANDED_IN = homework.handed_in(LINK, "Ada", "Because.", [("2026-11-27 10:00:00 UTC", "Guess")])


@given(st.text(), st.integers(0, len(LINK.token)), st.integers(0, len(LINK.token)))
def test_a_changed_homework_link_is_none(text: str, start: int, end: int) -> None:
    token = LINK.token[:start] + text + LINK.token[end:]
    assert (homework.homework_from(token) is None) == (token != LINK.token)


@given(changed(json.dumps(["lessons?lesson=vanishing", ["answers"], "nonce"])))
def test_a_signed_link_of_another_version_is_homework_or_none(text: str) -> None:
    payload = urlsafe_b64encode(text.encode()).decode().rstrip("=")
    found = homework.homework_from(f"{payload}.{homework._mac('link', payload)[:32]}")
    assert found is None or all(type(name) is str for name in (found.stop, *found.hide))


@given(st.text(), st.integers(0, len(HANDED_IN)), st.integers(0, len(HANDED_IN)))
def test_a_changed_text_is_genuine_only_as_it_was(text: str, start: int, end: int) -> None:
    other = HANDED_IN[:start] + text + HANDED_IN[end:]
    genuine = homework._normal(HANDED_IN)
    assert all(one.name == "Ada" for one in homework.checked(other) if one.is_genuine)
    assert not any(one.is_genuine for one in homework.checked(other)) or genuine in homework._normal(other)


@given(st.text(), st.text(max_size=homework.MAX_ANSWER_CHARS))
def test_any_name_and_answer_can_be_handed_in(name: str, answer: str) -> None:
    (found,) = homework.checked(homework.handed_in(LINK, name, answer, [("2026-11-27 10:00:00 UTC", "Guess")]))
    assert (found.is_genuine, found.tries) == (True, "1")


@given(changed(UNIT))
def test_a_changed_unit_of_a_map_is_read_or_left_out(text: str) -> None:
    record = read_unit(text.encode())
    assert record is None or all(Outcome.from_dict(run).to_dict() for run in record["runs"])


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A file with a class that has answered, and its code."""
    board, file = Board(lambda: 1e9), tmp_path_factory.mktemp("board") / "classes.json"
    board.persist_to(file)
    code, key, _ = board.open()
    question = questions_of("vanishing")[0]
    board.show(code, key, "vanishing")
    board.joined(code, "one", member="one")
    board.guess(code, question, "one", poll_of(question).options[0])
    board.reveal(code, key)
    board.save()
    return file.read_text("utf-8"), code


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(data=st.data())
def test_a_changed_file_of_classes_stops_no_page(data: st.DataObject, classes: tuple[str, str], tmp_path: Path) -> None:
    text, code = classes
    (file := tmp_path / "classes.json").write_text(data.draw(changed(text)), "utf-8")
    board = Board(lambda: 1e9)
    board.persist_to(file)
    state = board.state_of(code)
    if state is not None:
        for question in questions_of(state.stop):
            assert sum((board.counts(code, question) or {}).values()) <= 1
        board.admit(code, "two")
    for _, _, result in board.results(code):
        assert all(datetime.fromtimestamp(time, UTC) for time in (result.shown, result.revealed))
        assert all(type(count) is int for count in (result.present, *result.answered.values()))
    board.save()
