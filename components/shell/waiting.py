"""A part of a page that looks again while an answer is still to come. Whatever moves along a tape is the stage's."""

from collections.abc import Callable

import streamlit as st

from components.shell import address
from models.service.client import trainer

SECONDS = 0.5  # between two looks
STARTING_SECONDS = 1.5  # while the trainer starts: the page's first picture is drawn undisturbed


def waits(name: str, body: Callable[[], bool]) -> None:
    """Runs `body` as a fragment, and again for as long as it returns that it waits for something.

    How often a fragment runs changes only when its parent does, so the page runs again whenever a wait begins or ends.
    """
    state, starting = f"{name}_waits", trainer().status().state == "starting"
    waited = st.session_state.setdefault(state, starting)

    @st.fragment(run_every=(STARTING_SECONDS if starting else SECONDS) if waited else None)
    def part() -> None:
        address.resume()
        waiting = body()
        address.settle()
        if waiting != waited or (waiting and starting and trainer().status().state != "starting"):
            st.session_state[state] = waiting
            st.rerun()

    part()
