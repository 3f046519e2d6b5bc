"""A part of a page that runs again while it waits for an answer."""

from collections.abc import Callable

import streamlit as st

from components.shell import address
from components.shell.session import Key
from components.shell.streamlits_own import ask_again, left_part_asked_for, part_alone
from models.service.client import trainer

SECONDS = 0.5  # between two runs of a part
SOON_SECONDS = 0.05
STARTING_SECONDS = 1.5  # while the trainer starts, so as not to disturb the page's first picture

# Whether a part of a page waits, and whether the trainer had started.
WAITS: Key[tuple[bool, bool]] = Key("{}_waits", (False, True))


def poll_while(name: str, body: Callable[[], bool]) -> None:
    """Runs `body` as a fragment, and again as long as it returns that it waits for something.

    The page runs again when a wait is over and when the trainer has started, but not when a wait begins: that would
    reset a control that the visitor has just moved. Nor does it begin again from above before it has run to its end:
    a press on a button below would be lost.
    """

    @st.fragment
    def part() -> None:
        address.resume()
        starting = trainer().status().state == "starting"
        waiting = body()
        address.settle()
        waited, started = WAITS.of(name).get()
        over = waited and (not waiting or (not started and not starting))
        if over and not part_alone():
            ask_again(SOON_SECONDS)
            return
        WAITS.of(name).put((waiting, not starting))
        if over:
            st.rerun()
        if waiting:
            ask_again(STARTING_SECONDS if starting else SECONDS)

    part()


def rerun_if_stale() -> None:
    """Runs this page again if the browser has meanwhile asked for a part of the page just left.

    Whoever leaves a page can still press something on it until the browser hears of the new one. Streamlit would then
    announce the old page, for which the browser empties the new one, and draw nothing: that part no longer exists.
    """
    if left_part_asked_for():
        st.rerun()
