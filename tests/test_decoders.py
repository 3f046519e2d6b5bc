"""Stored files that were changed by anybody, at any byte: a decoder gives what it can read, and never fails."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.lessons.board import Board
from models.lessons.stops import poll_of, questions_of
from models.maps.cells import Outcome
from models.maps.store import _read as read_unit
from models.service.wire import line_of, message_of

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
