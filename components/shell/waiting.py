"""Parts of a page that run again while they wait for an answer."""

import threading
import time
from collections.abc import Callable

import streamlit as st

from components.shell import address, visitor
from components.shell.session import Key
from components.shell.streamlits_own import is_fragment_run, is_old_part_requested, rerun_fragment_after
from models.service.client import trainer

POLL_SECONDS = 0.5  # between two runs of a part, at least
POLL_SHARE = 0.25  # of a core, for all parts that wait together
POLL_SECONDS_AT_START = 1.5  # while the trainer starts, so as not to disturb the page's first paint
RECHECK_SECONDS = 0.05  # until the page's own run has ended

# Whether a part of a page waits, and whether the trainer had started.
WAITS: Key[tuple[bool, bool]] = Key("{}_waits", (False, True))

_waiting: dict[tuple[str, str], float] = {}  # by session and part, until when it counts (monotonic seconds)
_lock = threading.Lock()


def pause_after(session: str, name: str, processor_seconds: float) -> float:
    """Seconds until a part runs again, longer where many wait: a class's pages together take at most POLL_SHARE."""
    part, now = (session, name), time.monotonic()
    with _lock:
        for gone in [other for other, until in _waiting.items() if until < now]:
            del _waiting[gone]
        pause = max(POLL_SECONDS, len(_waiting.keys() | {part}) * processor_seconds / POLL_SHARE)
        _waiting[part] = now + 2 * pause
    return pause


def poll_while(name: str, body: Callable[[], bool]) -> None:
    """Runs `body` as a fragment, and again as long as it returns True because it waits for an answer.

    The whole page reruns when the answer has arrived and when the trainer has started. It never reruns at the start
    of a wait (that would reset a control the visitor has just moved), nor before the page itself has finished (that
    would lose a press on a button further down).
    """

    @st.fragment
    def part() -> None:
        address.resume()
        is_starting = trainer().status().state == "starting"
        began = time.thread_time()
        is_waiting = body()
        address.write_changes()
        was_waiting, had_started = WAITS.of(name).get()
        answer_arrived = was_waiting and not is_waiting
        trainer_just_started = was_waiting and not had_started and not is_starting
        must_rerun_page = answer_arrived or trainer_just_started
        if must_rerun_page and not is_fragment_run():
            # still inside the page's first run: let it finish, then check again as a fragment
            rerun_fragment_after(RECHECK_SECONDS)
            return
        WAITS.of(name).put((is_waiting, not is_starting))
        if must_rerun_page:
            st.rerun()
        if is_waiting:
            pause = pause_after(visitor.visitor_id(), name, time.thread_time() - began)
            rerun_fragment_after(POLL_SECONDS_AT_START if is_starting else pause)

    part()


def rerun_if_stale() -> None:
    """Runs this page again if the browser has meanwhile requested a fragment of the page just left.

    A visitor can still press something on the old page until the browser shows the new one. Streamlit would then
    report the old page as current; the browser would clear the new page and get nothing in its place, because the
    fragment is gone.
    """
    if is_old_part_requested():
        st.rerun()
