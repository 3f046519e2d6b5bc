"""Who is watching, and how often everybody's page is drawn: more rarely for many viewers, and on a slow server."""

import threading
import time
from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from components.address import HERE
from models.service.client import Owner, tape_key
from models.spec import RunConfig

INTERVALS = ((6, 0.5), (14, 1.0), (40, 2.0), (90, 4.0), (float("inf"), 8.0))  # up to so many viewers: seconds between polls
WATCHING_SECONDS = 2.5 * INTERVALS[-1][1]  # so long a viewer counts: a late poll changes nobody's interval
SHARE = 0.4  # of one core that drawing may take: one process draws all pages, one at a time, and sending them adds about half
MEMORY = 50  # drawings over which the cost of one is averaged
STEADY = 1.25  # a cost that has changed by less than this factor changes nobody's interval, for that draws the whole page
_lock = threading.Lock()
_seen: dict[str, float] = {}


@dataclass
class Cost:
    """Processor seconds of drawing one page once: the running mean, and the figure that intervals go by."""

    mean: float = 0.01
    held: float = 0.01

    def add(self, seconds: float) -> None:
        """One more drawing."""
        self.mean += (seconds - self.mean) / MEMORY
        if not self.held / STEADY < self.mean < self.held * STEADY:
            self.held = self.mean


_cost = Cost()


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


def drew(seconds: float) -> None:
    """Notes what drawing a page has cost, in processor seconds of its thread."""
    with _lock:
        _cost.add(seconds)


def interval(viewers: int, cost: float = 0.0) -> float:
    """Seconds between two polls of one page, when one drawing costs so many seconds: 0.5 for a few viewers, 2 for a class."""
    fits = (seconds for most, seconds in INTERVALS if viewers <= most and viewers * cost <= SHARE * seconds)
    return next(fits, INTERVALS[-1][1])


def pace(session: str) -> float:
    """Seconds between two polls of the page of a session, which is watching."""
    return interval(watching(session), _cost.held)


def slowed() -> str:
    """That pages are drawn less often because many watch, in words; empty where few do."""
    with _lock:
        viewers = len(_seen)
    seconds = interval(viewers, _cost.held)
    people = "1 person watches" if viewers == 1 else f"{viewers} people watch"
    return f"{people}: drawn every {seconds:g} s" if seconds > INTERVALS[0][1] else ""
