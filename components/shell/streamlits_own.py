"""Every use of a private name of Streamlit, for which its version is pinned exactly.

Nothing else in the app uses one (`tests/project/test_architecture.py`). `tests/shell/test_streamlits_own.py` says for
each what a visitor would miss without it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests, ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState
from streamlit.runtime.session_manager import ActiveSessionInfo
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

MAX_EVENT_CHARS = 1_000_000  # as many as one message may have (maxWidgetStateSize)
SCRIPTS = Path(st.__file__).parent / "static" / "static" / "js"


def session_id() -> str:
    """The id of the session whose page runs in this thread; empty outside of a page."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else ""


def browser_url() -> str:
    """The address in the browser's bar; empty if unknown. `st.context.url` lacks a path or host named as a page is."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.context_info.url if context and context.context_info else ""


def from_history() -> bool:
    """Whether this run of a page comes from Back or Forward."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.is_history_navigation


def is_old_part_requested() -> bool:
    """Whether a request waits for a fragment of another page than the one that runs."""
    context = get_script_run_ctx()
    if context is None or context.script_requests is None:
        return False
    state, request = context.script_requests._state, context.script_requests._rerun_data
    is_old_part = bool(request.fragment_id_queue) and request.page_script_hash != context.page_script_hash
    return state is ScriptRequestType.RERUN and is_old_part


def is_fragment_run() -> bool:
    """Whether only fragments of the page run, not the whole page."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def rerun_fragment_after(seconds: float) -> None:
    """Makes the browser rerun this fragment every `seconds` until its page runs again.

    `run_every` sends the same message, but needs the interval before the fragment runs.
    """
    context, fragment = get_script_run_ctx(), ThreadState.get().fragment_id
    if context is None or fragment is None:
        return  # no browser is connected
    message = ForwardMsg()
    message.auto_rerun.interval = seconds
    message.auto_rerun.fragment_id = fragment
    context.enqueue(message)


class CurrentSessions(list[ActiveSessionInfo]):
    """Sessions, of which an iteration gives each with the connection that it has at that moment, if any."""

    def __init__(self, by_id: Mapping[str, ActiveSessionInfo]) -> None:
        super().__init__(by_id.values())
        self._by_id = by_id

    def __iter__(self) -> Iterator[ActiveSessionInfo]:
        for info in super().__iter__():
            if (current := self._by_id.get(info.session.id)) is not None:
                yield current


def send_to_current_connections() -> None:
    """Makes the server send a session's answers to the connection that it has then.

    Streamlit's loop over the sessions waits between two of them, and would send to a connection that was lost since.
    """

    def list_active_sessions(manager: WebsocketSessionManager) -> list[ActiveSessionInfo]:
        return CurrentSessions(manager._active_session_info_by_id)

    WebsocketSessionManager.list_active_sessions = list_active_sessions  # type: ignore[method-assign,assignment]


def hear_every_press() -> None:
    """Makes a session hear every press, however soon its browser asks for another run of the page.

    Streamlit drops the presses that came with a request when the next one comes before their callbacks have begun, ends
    a callback in its midst, and of two events of one component keeps the later; `runner.fastReruns`, which must be off,
    drops those that wait for a run as well. And a part of the page just left would lead back to it.
    """
    answer, ask = SafeSessionState.on_script_will_rerun, ScriptRequests._request_rerun_locked

    def answer_whole(state: SafeSessionState, *states: Any, **how: Any) -> None:
        runner: Any = getattr(state._yield_callback, "__self__", None)
        runner._execing = False  # it looks at no request meanwhile
        try:
            answer(state, *states, **how)
        finally:
            runner._execing = True

    def ask_beside(requests: ScriptRequests, new: RerunData) -> bool:
        if requests._state is ScriptRequestType.RERUN:
            waiting = requests._rerun_data
            if new.fragment_id and not waiting.fragment_id_queue and new.page_script_hash != waiting.page_script_hash:
                here = ("page_script_hash", "page_name", "query_string")
                new = replace(new, **{name: getattr(waiting, name) for name in here})
            new = replace(new, widget_states=_with_earlier_events(waiting.widget_states, new.widget_states))
        return ask(requests, new)

    SafeSessionState.on_script_will_rerun = answer_whole  # type: ignore[method-assign,assignment]
    ScriptRequests._request_rerun_locked = ask_beside  # type: ignore[method-assign,assignment]


def _with_earlier_events(earlier: WidgetStates | None, new: WidgetStates | None) -> WidgetStates | None:
    """The new states, whose components also say the earlier events of other names, within MAX_EVENT_CHARS."""
    events_by_id = (
        {state.id: _events(state) for state in earlier.widgets if state.json_trigger_value} if earlier else {}
    )
    if new is None or not events_by_id:
        return new
    merged = WidgetStates()
    merged.CopyFrom(new)
    for state in merged.widgets:
        if state.json_trigger_value and (before := events_by_id.pop(state.id, None)):  # once, though an id came twice
            events = _events(state)
            names = {event["event"] for event in events}
            both = json.dumps([event for event in before if event["event"] not in names] + events)
            if len(both) <= MAX_EVENT_CHARS:
                state.json_trigger_value = both
    return merged


def _events(state: WidgetState) -> list[dict[str, Any]]:
    """The events of a component, whatever a client has sent; Streamlit hears those alone whose name is a text."""
    try:
        events = json.loads(state.json_trigger_value)
    except (ValueError, RecursionError):
        return []
    events = events if isinstance(events, list) else [events]
    return [event for event in events if isinstance(event, dict) and isinstance(event.get("event"), str)]
