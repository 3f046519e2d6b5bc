"""The tour: five minutes for whoever comes alone. Each of its pages names the next step in one line."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from components.shell import memory
from components.shell.link import LESSONS, PLAYGROUND, START, STORY
from models.content import phrase


@dataclass(frozen=True)
class Stop:
    """A step of the tour: its page, the part of the address that opens it, and what one does there."""

    page: Path
    does: str
    query: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The address of its page, below the app's."""
        return "" if self.page == START else self.page.stem


STOPS = {
    "start": Stop(START, "guess, and train four nets"),
    "story": Stop(STORY, "two scenes of the story", {"scene": "3"}),
    "break": Stop(PLAYGROUND, "break a net"),
    "lesson": Stop(LESSONS, "one lesson"),
}
# What its line says: on the tour's first page, on any other, of the next step, after a break, and to leave it.
WORDS = {
    "first": "Five-minute tour, {} of {}",
    "where": "Tour, {} of {}",
    "next": "Next: {}",
    "again": "Continue: {}",
    "leave": "Leave the tour",
}
SEEN = 4  # the scene of the story with which its step is done
ENTRY = "tour.{}"  # of the browser's memory: a step that is done


def declared(page: str) -> dict[str, Any] | None:
    """What the browser is told on a page of the tour; None on any other."""
    steps = [
        {
            "entry": ENTRY.format(name),
            "does": phrase(stop.does),
            "href": f"./{stop.path}?{urlencode(stop.query)}".rstrip("?"),
        }
        for name, stop in STOPS.items()
    ]
    at = next((at for at, stop in enumerate(STOPS.values()) if stop.path == page), None)
    words = {name: phrase(english) for name, english in WORDS.items()}
    return None if at is None else {"at": at, "steps": steps, "names": list(STOPS), "words": words}


def done(name: str) -> None:
    """Has the browser remember that a step is done."""
    memory.keep(ENTRY.format(name), True)


def follow() -> None:
    """Once per script run, before the page: opens the step that was asked for."""
    if stop := STOPS.get(memory.MEMORY_GO.pop()):
        st.switch_page(stop.page, query_params=stop.query)
