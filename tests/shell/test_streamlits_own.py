"""What broke when Streamlit has changed: a test for each of its own names that the app needs."""

import inspect
import re
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager
from streamlit.testing.v1 import AppTest

from components.shell import streamlits_own
from components.shell.streamlits_own import (
    SCRIPTS,
    from_history,
    is_fragment_run,
    is_old_part_requested,
    send_to_current_connections,
    session_id,
)

ROOT = Path(__file__).parents[2]


def page_of_a_session() -> None:
    import streamlit as st

    from components.shell.streamlits_own import session_id

    st.text(session_id())


def test_a_session_has_an_id() -> None:
    """Where this fails, all visitors are one to the trainer, and each ends what another one trains."""
    assert session_id() == ""
    assert AppTest.from_function(page_of_a_session).run().text[0].value


@pytest.mark.parametrize("history", [True, False])
def test_a_run_says_whether_it_comes_from_back_or_forward(history: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this fails, Back leads to the address that was left instead of the one before."""
    assert "is_history_navigation" in {field.name for field in fields(ScriptRunContext)}
    run = SimpleNamespace(is_history_navigation=history)
    monkeypatch.setattr(streamlits_own, "get_script_run_ctx", lambda **_: run)
    assert from_history() is history


@pytest.mark.parametrize(("asked_of", "left"), [("the page before", True), ("this page", False)])
def test_a_run_hears_that_the_browser_asks_for_a_part_of_the_page_before(asked_of, left, monkeypatch) -> None:
    """Where this fails, whoever presses something while a page changes gets an empty page."""
    requests = ScriptRequests()
    run = SimpleNamespace(script_requests=requests, page_script_hash="this page")
    monkeypatch.setattr(streamlits_own, "get_script_run_ctx", lambda **_: run)
    assert not is_old_part_requested()
    data = requests._rerun_data
    requests.request_rerun(type(data)(fragment_id="part", page_script_hash=asked_of))
    assert is_old_part_requested() is left


@pytest.mark.parametrize(("parts", "alone"), [(["a part"], True), (None, False)])
def test_a_run_says_whether_it_is_of_parts_of_the_page_alone(parts, alone, monkeypatch) -> None:
    """Where this fails, a page that has waited is not run again, and shows for good what it showed meanwhile."""
    assert "fragment_ids_this_run" in {field.name for field in fields(ScriptRunContext)}
    run = SimpleNamespace(fragment_ids_this_run=parts)
    monkeypatch.setattr(streamlits_own, "get_script_run_ctx", lambda **_: run)
    assert is_fragment_run() is alone


def page_that_waits() -> None:
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from components.shell.streamlits_own import rerun_fragment_after

    sent = []
    get_script_run_ctx().enqueue = sent.append

    @st.fragment
    def part() -> None:
        rerun_fragment_after(0.5)

    rerun_fragment_after(0.25)
    part()
    del get_script_run_ctx().enqueue
    kinds = [message.WhichOneof("type") for message in sent]
    (asked,) = [message.auto_rerun for message in sent if message.WhichOneof("type") == "auto_rerun"]
    st.text(f"{kinds.count('auto_rerun')} {asked.interval} {bool(asked.fragment_id)}")


def test_a_fragment_has_its_browser_ask_for_it_again_and_nothing_else_has() -> None:
    """Where this fails, a part that waits for an answer waits until the visitor presses something."""
    page = AppTest.from_function(page_that_waits).run()
    assert not page.exception
    assert page.text[0].value == "1 0.5 True"


def test_every_part_of_the_page_that_our_styles_and_scripts_name_is_one_of_streamlits() -> None:
    """Where this fails, a rule of style or a script of ours no longer finds what it was written for."""
    rooms = ("components/**", "addnorm/player")
    sources = [path for room in rooms for kind in ("css", "js") for path in ROOT.glob(f"{room}/*.{kind}")]
    named = {name for path in sources for name in re.findall(r"\bst[A-Z]\w+", path.read_text("utf-8"))}
    streamlit = " ".join(path.read_text("utf-8") for path in SCRIPTS.glob("*.js"))
    assert len(named) > 5
    assert [name for name in sorted(named) if name not in streamlit] == []


def test_an_answer_goes_to_the_connection_there_is() -> None:
    """Where this fails, whoever was without a network for a moment finds a page that stands still until a click."""
    send_to_current_connections()
    manager = WebsocketSessionManager.__new__(WebsocketSessionManager)
    infos = {name: SimpleNamespace(session=SimpleNamespace(id=name), client="lost") for name in ("a", "b", "c")}
    manager._active_session_info_by_id = infos
    heard = []
    for info in manager.list_active_sessions():
        heard.append((info.session.id, info.client))
        infos["b"] = SimpleNamespace(session=SimpleNamespace(id="b"), client="new")  # while the loop waits
        infos.pop("c", None)
    assert heard == [("a", "lost"), ("b", "new")]
    assert "for active_session_info in self._session_mgr.list_active_sessions():" in inspect.getsource(Runtime)
