"""Who is watching, and how many: everybody's page polls more slowly when there are many."""

import threading
import time

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from components.link import HERE
from models.service.client import Owner, tape_key
from models.spec import RunConfig

WATCHING_SECONDS = 10.0
INTERVALS = ((6, 0.5), (14, 1.0), (40, 2.0), (float("inf"), 4.0))  # up to so many viewers: seconds between two polls
_lock = threading.Lock()
_seen: dict[str, float] = {}


def visitor() -> str:
    """The name of this visitor's session; empty outside of a page."""
    context = get_script_run_ctx()
    return context.session_id if context else ""


def owner(part: str, *runs: RunConfig, seeds: int = 1) -> Owner:
    """This visitor on the page that is shown, of which one part is about these runs."""
    return Owner(visitor(), str(st.session_state.get(HERE, "")), part, frozenset(tape_key(cfg, seeds) for cfg in runs))


def watching(session: str) -> int:
    """Notes that a session is watching and returns how many are."""
    now = time.monotonic()
    with _lock:
        _seen[session] = now
        for other in [key for key, at in _seen.items() if at < now - WATCHING_SECONDS]:
            del _seen[other]
        return len(_seen)


def interval(viewers: int) -> float:
    """Seconds between two polls of one page: 0.5 for a few viewers, 2 for a class, 4 for two."""
    return next(seconds for most, seconds in INTERVALS if viewers <= most)


def slowed() -> str:
    """That pages are drawn less often because many watch, in words; empty where few do."""
    with _lock:
        viewers = len(_seen)
    seconds = interval(viewers)
    return f"{viewers} people watch: drawn every {seconds:g} s" if seconds > INTERVALS[0][1] else ""
