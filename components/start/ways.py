"""Where to go from Start: a card for each kind of reader."""

from pathlib import Path

import streamlit as st

from components.shell import compare_link, projector
from components.shell.link import COMPARE, LESSONS, PAGES, PLAYGROUND, STORY
from models.spec.pairings import DEEP_PLACEMENTS, PAIRINGS

DEEP = compare_link.to_query(PAIRINGS[DEEP_PLACEMENTS].make(), seeds=1)
ON_PROJECTOR = {projector.KEY: projector.VALUE}
# By reader: the pages in order with their labels; a query where one is to be opened in some way.
WAYS: dict[str, tuple[tuple[Path, str, dict[str, str]], ...]] = {
    "Visitors": ((STORY, "The story", {}), (PLAYGROUND, "Break a net", {})),
    "Students": ((LESSONS, "Lessons", {}), (PAGES / "learn" / "claims.py", "Common claims", {})),
    "Teachers": (
        (STORY, "Show the story", ON_PROJECTOR),
        (PAGES / "learn" / "teacher.py", "Open a class", {}),
    ),
    "Engineers": (
        (PAGES / "train" / "recordings.py", "Your model", {}),
        (COMPARE, "Pre-norm, post-norm", DEEP),
        (PAGES / "explore" / "maps.py", "Maps", {}),
    ),
}


def ways() -> None:
    """One card per kind of reader, each with two or three pages."""
    st.subheader("Go on", anchor=False)
    for place, (who, pages) in zip(st.columns(len(WAYS)), WAYS.items(), strict=True):
        with place.container(border=True):
            st.markdown(f"**{who}**")
            for page, label, query in pages:
                st.page_link(page, label=label, query_params=query)
