"""Where to go from Start: a card for each kind of reader."""

from pathlib import Path

import streamlit as st

from components.shell import compare_link, projector
from components.shell.link import COMPARE, LESSONS, PAGES, PLAYGROUND, STORY
from models.spec.pairings import DEEP_PLACEMENTS, PAIRINGS

DEEP = compare_link.to_query(PAIRINGS[DEEP_PLACEMENTS].make(), seeds=1)
ON_PROJECTOR = {projector.KEY: projector.VALUE}
# By reader: what for, and the pages in order with their labels; a query where one is to be opened in some way.
WAYS: dict[str, tuple[str, tuple[tuple[Path, str, dict[str, str]], ...]]] = {
    "A visitor": (
        "Five minutes, no prior knowledge needed.",
        ((STORY, "The story", {}), (PLAYGROUND, "Break a net yourself", {})),
    ),
    "A student": (
        "Guess first, then let the numbers decide.",
        ((LESSONS, "Lessons", {}), (PAGES / "learn" / "errors.py", "Common claims", {})),
    ),
    "A teacher": (
        "For a projector and a class of thirty.",
        (
            (STORY, "Show the story", ON_PROJECTOR),
            (PAGES / "learn" / "teacher.py", "Make a link for the class", {}),
        ),
    ),
    "An engineer": (
        "Which arrangement still trains at depth 64?",
        (
            (PAGES / "train" / "recordings.py", "Your own model", {}),
            (COMPARE, "Pre-norm against post-norm, 48 blocks", DEEP),
            (PAGES / "explore" / "maps.py", "Maps of many runs", {}),
        ),
    ),
}


def ways() -> None:
    """One card per kind of reader, each with two or three pages."""
    st.subheader("Where to go from here", anchor=False)
    for place, (who, (why, pages)) in zip(st.columns(len(WAYS)), WAYS.items(), strict=True):
        with place.container(border=True):
            st.markdown(f"**{who}.** {why}")
            for number, (page, label, query) in enumerate(pages, start=1):
                st.page_link(page, label=f"{number}. {label}", query_params=query)
