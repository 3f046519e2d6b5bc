"""The tour: five minutes for a visitor who comes alone. Each of its pages names the next step in one line."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from components.shell import address, memory
from components.shell.link import LESSONS, NET_PART, START, STORY


@dataclass(frozen=True)
class Stop:
    """A step of the tour: its page, what the visitor does there, and the query that opens it."""

    page: Path
    does: str
    query: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The path of its page below the app's URL."""
        return "" if self.page == START else self.page.stem


STOPS = {
    "start": Stop(START, "guess, and train four nets"),
    "story": Stop(STORY, "the story, scene by scene", {"scene": "1"}),
    "break": Stop(START, "break a net", {"part": NET_PART}),
    "lesson": Stop(LESSONS, "one lesson"),
}
# Texts of its line: position and task on the first page and on others, or that all is done; links to the next step,
# after a break, and to leave.
WORDS = {
    "first": "Five-minute tour, {} of {}",
    "where": "Tour, {} of {}: {}",
    "done": "The tour is done. Go on with the labs, claims and papers.",
    "next": "Next: {}",
    "again": "Continue: {}",
    "leave": "Leave the tour",
}
STORY_SCENE = 4  # the scene at which the story's step is done
ENTRY = "tour.{}"  # of the browser's memory: a step that is done


def declaration(page: str) -> dict[str, Any] | None:
    """The data of the tour's line on a page of the tour; None for any other page."""
    here = [name for name, stop in STOPS.items() if stop.path == page]
    if not here:
        return None
    # Start has two stops, the second at its part.
    at = here[-1] if st.query_params.get("part") == NET_PART else here[0]
    steps = [
        {
            "entry": ENTRY.format(name),
            "does": stop.does,
            "href": f"./{stop.path}?{urlencode(stop.query)}".rstrip("?"),
        }
        for name, stop in STOPS.items()
    ]
    return {"at": list(STOPS).index(at), "steps": steps, "names": list(STOPS), "words": WORDS}


def mark_done(name: str) -> None:
    memory.remember(ENTRY.format(name), True)


def follow() -> None:
    """Once per script run, before the page: opens the step whose link the visitor has clicked."""
    if stop := STOPS.get(memory.MEMORY_GO.pop()):
        address.forget(stop.path, "part")  # Start would open at its other stop
        st.switch_page(stop.page, query_params=stop.query)
