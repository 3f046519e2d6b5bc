"""A part of a page that runs again while it waits for an answer."""

from collections.abc import Callable

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

from components.shell import address, session
from models.service.client import trainer

SECONDS = 0.5  # between two runs of a part
STARTING_SECONDS = 1.5  # while the trainer starts, so as not to disturb the page's first picture


def waits(name: str, body: Callable[[], bool]) -> None:
    """Runs `body` as a fragment, and again as long as it returns that it waits for something.

    The page runs again when a wait is over and when the trainer has started, but not when a wait begins: that would
    reset a control that the visitor has just moved.
    """

    @st.fragment
    def part() -> None:
        address.resume()
        starting = trainer().status().state == "starting"
        waiting = body()
        address.settle()
        waited, started = session.WAITS.of(name).get()
        session.WAITS.of(name).put((waiting, not starting))
        if waited and (not waiting or (not started and not starting)):
            st.rerun()
        if waiting:
            _again(STARTING_SECONDS if starting else SECONDS)

    part()


def stay() -> None:
    """Runs this page again if the browser has meanwhile asked for a part of the page just left.

    Whoever leaves a page can still press something on it until the browser hears of the new one. Streamlit would then
    announce the old page, for which the browser empties the new one, and draw nothing: that part no longer exists.
    """
    context = get_script_run_ctx()
    if context is None or context.script_requests is None:
        return
    waiting, asked = context.script_requests._state, context.script_requests._rerun_data
    left = asked.fragment_id_queue and asked.page_script_hash != context.page_script_hash
    if waiting is ScriptRequestType.RERUN and left:
        st.rerun()


def _again(seconds: float) -> None:
    """Makes the browser ask for this fragment repeatedly until the page runs again.

    `run_every` sends the same message, but its interval must be known before the fragment runs.
    """
    context, fragment = get_script_run_ctx(), ThreadState.get().fragment_id
    if context is None or fragment is None:
        return  # no browser is connected
    message = ForwardMsg()
    message.auto_rerun.interval = seconds
    message.auto_rerun.fragment_id = fragment
    context.enqueue(message)
