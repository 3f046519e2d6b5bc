"""Streamlit's main script: the list of pages, and what they all share."""

from pathlib import Path
from typing import NamedTuple

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from components.classroom import desk, following, homework
from components.lessons import progress
from components.search import box
from components.search.index import PageWords
from components.shell import address, hidden_parts, memory, projector, tour, visitor
from components.shell.copy_link import copy_link
from components.shell.drawer import drawer
from components.shell.related import link_from_lab
from components.shell.waiting import rerun_if_stale
from models.labs.labs import LABS

HERE = Path(__file__).parent
NAME = "Add & Norm Playground"

# Before st.navigation: the default icon of a page would be fetched from another host.
st.set_page_config(page_title=NAME, page_icon=str(HERE / "icon.png"), layout="wide", initial_sidebar_state="auto")


class PageEntry(NamedTuple):
    """A page in the bar or its menus. The script's name is the page's address.

    Pages in the bar have no tip: after a click it would cover the title of the opened page until the mouse moves.
    """

    script: str
    title: str
    icon: str
    tip: str = ""


SECTIONS = {  # at most seven entries in the bar, menus included
    "": (
        PageEntry("start", "Start", "home"),
        PageEntry("story", "The story", "auto_stories"),
        PageEntry("playground", "Playground", "tune"),
        PageEntry("compare", "Compare", "compare_arrows"),
        PageEntry("labs", "Labs", "science"),
    ),
    "Learn": (
        PageEntry("lessons", "Lessons", "school", "Guess, train, see what happened and why, solve the challenge."),
        PageEntry("claims", "Common claims", "fact_check", "True or false? Each with an experiment that tests it."),
        PageEntry("papers", "Papers", "article", "Published results, each run here at small scale: do they hold?"),
        PageEntry("glossary", "Glossary", "dictionary", "Every term of the app: meaning, formula, paper."),
    ),
    "More": (
        PageEntry("anatomy", "Anatomy", "account_tree", "One block as diagram, equation and PyTorch."),
        PageEntry("maps", "Maps", "grid_on", "Many runs at once: what trains at which depth and learning rate."),
        PageEntry("recordings", "Your model", "monitor_heart", "Your own PyTorch model, recorded while it trains."),
        PageEntry(
            "teacher", "Teacher", "co_present", "Lead a class: everybody sees what you choose, and guesses first."
        ),
    ),
}
# Not in the navigation, by the entry that is lit there: a class is led to its questions, Labs has a map of the labs.
UNLISTED = {
    "Teacher": (PageEntry("question", "A question", "help"),),
    "Labs": tuple(PageEntry(address, lab.title, lab.icon) for address, lab in LABS.items()),
}
UNLISTED_ENTRIES = [entry for entries in UNLISTED.values() for entry in entries]
PAGE_WORDS = [
    PageWords("" if entry.script == "start" else entry.script, entry.title, entry.tip)
    for entries in SECTIONS.values()
    for entry in entries
]


def page_of(entry: PageEntry) -> StreamlitPage:
    """A page for st.navigation, hidden from the bar if it is unlisted."""
    is_start = entry.script == "start"
    return st.Page(
        HERE / f"{entry.script}.py",
        title=entry.title,
        icon=f":material/{entry.icon}:",
        url_path=None if is_start else entry.script,
        default=is_start,
        visibility="hidden" if entry in UNLISTED_ENTRIES else "visible",
        help=entry.tip or None,
    )


bar_pages = [page_of(entry) for entry in (*SECTIONS[""], *UNLISTED_ENTRIES)]
menus = {name: [page_of(entry) for entry in entries] for name, entries in SECTIONS.items() if name}
pages = {"": bar_pages} | menus
page = st.navigation(pages, position="top", expanded=True)  # in the drawer of a phone
above = {
    key: name
    for names in (SECTIONS, UNLISTED)
    for name, entries in names.items()
    for entry in entries
    for key in (entry.script, entry.title)
}
entry = above.get(page.url_path, "")
title = NAME if not page.url_path else f"{page.title} · {NAME}"
st.set_page_config(page_title=title)
st.logo(str(HERE / "wordmark.svg"))
visit = hidden_parts.query() | following.follow(page.url_path) | homework.follow()
address.begin_run(page.url_path, visit)
visitor.begin_run(page.url_path, desk.current_stop())
tour.follow()
box.follow()
copy_link(desk.page_button(page.url_path))
drawer(page.url_path, current=[name for name in (entry, above.get(entry, "")) if name])
hidden_parts.adopt()
if not (following.shown_state() or projector.is_on() or hidden_parts.hides_anything()):
    box.draw(PAGE_WORDS)
if projector.is_on():
    projector.enlarge()
page.run()
if not following.shown_state() and not projector.is_on():
    link_from_lab(page.url_path)
homework.draw(page.url_path)
is_plain_visit = not (following.code() or projector.is_on() or hidden_parts.hides_anything())
memory.draw(
    tour.declaration(page.url_path) if is_plain_visit else None,
    asks=progress.needs_memory(page.url_path) or following.needs_memory(page.url_path),
    keeps=not following.shown_state() or page.url_path == following.TEACHER_PAGE,
    offers=following.offers(),
)
address.write_changes()
rerun_if_stale()
