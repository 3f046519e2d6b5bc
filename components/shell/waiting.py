"""Parts of a page that run again while they wait for an answer."""

from collections.abc import Callable

import streamlit as st

from components.shell import address
from components.shell.session import Key
from components.shell.streamlits_own import is_fragment_run, is_old_part_requested, rerun_fragment_after
from models.service.client import trainer

POLL_SECONDS = 0.5  # between two runs of a part
POLL_SECONDS_AT_START = 1.5  # while the trainer starts, so as not to disturb the page's first paint
SOON_SECONDS = 0.05

# Whether a part of a page waits, and whether the trainer had started.
WAITS: Key[tuple[bool, bool]] = Key("{}_waits", (False, True))


def poll_while(name: str, body: Callable[[], bool]) -> None:
    """Runs `body` as a fragment, and again as long as it returns True because it waits for an answer.

    The whole page reruns when a wait is over and when the trainer has started. It does not when a wait begins, which
    would reset a control that the visitor has just moved, nor before it has run to its end, which would lose a press
    on a button further down.
    """

    @st.fragment
    def part() -> None:
        address.resume()
        is_starting = trainer().status().state == "starting"
        is_waiting = body()
        address.write_changes()
        was_waiting, had_started = WAITS.of(name).get()
        is_over = was_waiting and (not is_waiting or (not had_started and not is_starting))
        if is_over and not is_fragment_run():
            rerun_fragment_after(SOON_SECONDS)
            return
        WAITS.of(name).put((is_waiting, not is_starting))
        if is_over:
            st.rerun()
        if is_waiting:
            rerun_fragment_after(POLL_SECONDS_AT_START if is_starting else POLL_SECONDS)

    part()


def rerun_if_stale() -> None:
    """Runs this page again if the browser has meanwhile requested a fragment of the page just left.

    A visitor can still press something on the old page until the browser shows the new one. Streamlit would then
    announce the old page, for which the browser clears the new one, and draw nothing, as the fragment no longer exists.
    """
    if is_old_part_requested():
        st.rerun()
