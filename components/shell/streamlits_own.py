"""Every use of a private name of Streamlit, for which its version is pinned exactly.

Nothing else in the app uses one (`tests/project/test_architecture.py`). `tests/shell/test_streamlits_own.py` says for
each what a visitor would miss without it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState
from streamlit.runtime.session_manager import ActiveSessionInfo
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

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
