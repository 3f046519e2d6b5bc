"""A part of a page that looks again while an answer is still to come. Whatever moves along a tape is the stage's."""

from collections.abc import Callable

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

from components.shell import address, session
from models.service.client import trainer

SECONDS = 0.5  # between two looks
STARTING_SECONDS = 1.5  # while the trainer starts: the page's first picture is drawn undisturbed


def waits(name: str, body: Callable[[], bool]) -> None:
    """Runs `body` as a fragment, and again for as long as it returns that it waits for something.

    The page runs again when a wait is over, and when the trainer is there. Not when a wait begins: a control that
    somebody moves in the meantime would be put back to what the page had set it to.
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


def _again(seconds: float) -> None:
    """Has the browser ask for this fragment every so often, until the page runs again.

    What `run_every` sends, which would have to be known before the fragment runs.
    """
    context, fragment = get_script_run_ctx(), ThreadState.get().fragment_id
    if context is None or fragment is None:
        return  # nobody is there to ask again
    message = ForwardMsg()
    message.auto_rerun.interval = seconds
    message.auto_rerun.fragment_id = fragment
    context.enqueue(message)
