"""Where to go from Start: what it does not say itself."""

from pathlib import Path

import streamlit as st

from components.shell import compare_link
from components.shell.link import COMPARE, LESSONS, PAGES, STORY
from components.start.words import TEXTS
from models.spec.pairings import PAIRINGS, RESIDUALS

FOUR = compare_link.to_query(PAIRINGS["residual x norm"].make(), seeds=1)
FIVE = compare_link.to_query(PAIRINGS[RESIDUALS].make(), seeds=1)
# Page, name of its label's text, and query.
WAYS: tuple[tuple[Path, str, dict[str, str]], ...] = (
    (LESSONS, "lessons", {}),
    (PAGES / "labs.py", "labs", {}),
    (COMPARE, "compare", FOUR),
    (COMPARE, "residuals", FIVE),
    (PAGES / "teacher.py", "open a class", {}),
    (PAGES / "recordings.py", "your model", {}),
)


def draw_way_to_story() -> None:
    """Draws the link to the page that says why the four nets behave as they do."""
    st.page_link(STORY, label=TEXTS("the story"), icon=":material/auto_stories:")


def draw_ways() -> None:
    st.subheader(TEXTS("go on"), anchor=False)
    with st.container(horizontal=True):
        for page, label, query in WAYS:
            st.page_link(page, label=TEXTS(label), query_params=query)
