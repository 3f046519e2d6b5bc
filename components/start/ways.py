"""Where to go from Start: a card of pages for each kind of reader."""

from pathlib import Path

import streamlit as st

from components.shell import compare_link, projector
from components.shell.link import COMPARE, LESSONS, PAGES, PLAYGROUND, STORY
from components.start.words import TEXTS
from models.spec.pairings import DEEP_PLACEMENTS, PAIRINGS

DEEP = compare_link.to_query(PAIRINGS[DEEP_PLACEMENTS].make(), seeds=1)
ON_PROJECTOR = {projector.KEY: projector.VALUE}
# By kind of reader: page, name of its label's text, and query.
CARDS: dict[str, tuple[tuple[Path, str, dict[str, str]], ...]] = {
    "visitors": ((STORY, "the story", {}), (PLAYGROUND, "playground", {})),
    "students": ((LESSONS, "lessons", {}), (PAGES / "claims.py", "claims", {}), (PAGES / "papers.py", "papers", {})),
    "teachers": ((STORY, "show the story", ON_PROJECTOR), (PAGES / "teacher.py", "open a class", {})),
    "engineers": (
        (PAGES / "recordings.py", "your model", {}),
        (COMPARE, "compare", DEEP),
        (PAGES / "maps.py", "maps", {}),
    ),
}


def draw_cards() -> None:
    """Draws a card with two or three pages for each kind of reader."""
    st.subheader(TEXTS("go on"), anchor=False)
    for column, (reader, pages) in zip(st.columns(len(CARDS)), CARDS.items(), strict=True):
        with column.container(border=True):
            st.markdown(f"**{TEXTS(reader)}**")
            for page, label, query in pages:
                st.page_link(page, label=TEXTS(label), query_params=query)
