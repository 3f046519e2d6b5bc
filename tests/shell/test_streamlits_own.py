"""What broke when Streamlit has changed: a test for each of its own names that the app needs."""

import asyncio
import inspect
import json
import re
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import RerunData
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager
from streamlit.testing.v1 import AppTest

from components.shell import streamlits_own
from components.shell.streamlits_own import (
    SCRIPTS,
    from_history,
    hear_every_press,
    is_fragment_run,
    is_old_part_requested,
    send_to_current_connections,
    session_id,
)
from tests.load.server import serving
from tests.load.viewer import Viewer

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


COUNTER = """
import time
import streamlit as st
from components.shell.streamlits_own import hear_every_press

if not st.session_state.setdefault("begun", False):
    hear_every_press()
    st.session_state.begun = True

def count():
    st.session_state.slow = True
    time.sleep(0.01)  # in which the next request comes
    st.session_state.presses = st.session_state.get("presses", 0) + 1

st.button("Press", on_click=count)
st.markdown(f"{st.session_state.get('presses', 0)} presses")
"""


def test_no_press_is_lost_to_the_next_request(tmp_path: Path) -> None:
    """Where this fails, a press does nothing whenever the page is asked to run again at that moment."""
    script = tmp_path / "counter.py"
    script.write_text(COUNTER)

    async def press_ten_times(url: str) -> None:
        async with Viewer(url) as viewer:
            await viewer.until(lambda: viewer.shows("Press"), "the button")
            for presses in range(1, 11):
                await viewer.settled()
                await viewer.press("Press")
                await viewer.forge()
                await viewer.until(lambda presses=presses: viewer.text == f"{presses} presses", f"press {presses}", 10)  # type: ignore[misc]

    with serving(script, PYTHONPATH=str(ROOT)) as server:
        server.wait_for(path="/_stcore/health")
        asyncio.run(press_ten_times(server.url))


def asked(events: list[dict[str, object]], page: str = "", fragment: str | None = None) -> RerunData:
    states = WidgetStates()
    states.widgets.add(id="a component", json_trigger_value=json.dumps(events))
    return RerunData(widget_states=states, page_script_hash=page, fragment_id=fragment)


def test_two_events_of_a_component_are_both_heard() -> None:
    """Where this fails, a key pressed on a projector does nothing whenever somebody joins at that moment."""
    hear_every_press()
    requests = ScriptRequests()
    for events in ({"pressed": "n", "moved": 1}, {"moved": 2}, {"played": 3}):
        requests.request_rerun(asked([{"event": event, "value": value} for event, value in events.items()]))
    states = requests._rerun_data.widget_states
    assert states is not None
    (state,) = states.widgets
    assert [tuple(event.values()) for event in json.loads(state.json_trigger_value)] == [
        ("pressed", "n"),
        ("moved", 2),
        ("played", 3),
    ]


@pytest.mark.parametrize(
    ("waiting", "new"),
    [("[" * 100_000, "[]"), ("[]", "[" * 100_000), ('[{"event": []}]', '[{"event": {}}, {}, 1]'), ("[1]", '"x"')],
)
def test_events_that_no_browser_sends_are_borne(waiting: str, new: str) -> None:
    """Where this fails, a forged message fails in Streamlit's own queue."""
    hear_every_press()
    requests = ScriptRequests()
    for text in (waiting, new):
        states = WidgetStates()
        states.widgets.add(id="a component", json_trigger_value=text)
        assert requests.request_rerun(RerunData(widget_states=states))


def test_joined_events_are_said_once() -> None:
    """Where this fails, a message that names one component 100,000 times takes gigabytes."""
    hear_every_press()
    requests = ScriptRequests()
    requests.request_rerun(asked([{"event": "early", "value": "x" * 1000}]))
    states = WidgetStates()
    for _ in range(100):
        states.widgets.add(id="a component", json_trigger_value="0")
    joined = streamlits_own._with_earlier_events(requests._rerun_data.widget_states, states)
    assert joined is not None
    assert joined.ByteSize() < states.ByteSize() + 2000


def test_a_part_does_not_lead_back_to_its_page() -> None:
    """Where this fails, whoever leaves a page that waits for an answer may find himself on it again."""
    hear_every_press()
    requests = ScriptRequests()
    requests.request_rerun(asked([], "next"))
    requests.request_rerun(asked([], "left", "part"))
    assert requests._rerun_data.page_script_hash == "next"
