"""Every name of Streamlit's that it does not promise to keep: why its version is pinned exactly.

Nothing else in the app uses one (`tests/project/test_architecture.py`); `tests/shell/test_streamlits_own.py` says of
each what a visitor would miss without it.
"""

from pathlib import Path

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

SCRIPTS = Path(st.__file__).parent / "static" / "static" / "js"


def session_id() -> str:
    """The id of the session whose page runs in this thread; empty outside of a page."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else ""


def from_history() -> bool:
    """Whether this run of a page comes from Back or Forward."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.is_history_navigation


def left_part_asked_for() -> bool:
    """Whether the browser has meanwhile asked for a part of another page than the one that runs."""
    context = get_script_run_ctx()
    if context is None or context.script_requests is None:
        return False
    waiting, asked = context.script_requests._state, context.script_requests._rerun_data
    left = bool(asked.fragment_id_queue) and asked.page_script_hash != context.page_script_hash
    return waiting is ScriptRequestType.RERUN and left


def part_alone() -> bool:
    """Whether only parts of the page run, not the page from its beginning."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def ask_again(seconds: float) -> None:
    """Makes the browser ask for the fragment that runs, every so many seconds, until its page runs again.

    `run_every` sends the same message, but its interval must be known before the fragment runs.
    """
    context, fragment = get_script_run_ctx(), ThreadState.get().fragment_id
    if context is None or fragment is None:
        return  # no browser is connected
    message = ForwardMsg()
    message.auto_rerun.interval = seconds
    message.auto_rerun.fragment_id = fragment
    context.enqueue(message)
