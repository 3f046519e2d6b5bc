"""The configuration in the address bar: adopted from a link, written when a control is moved.

Streamlit's `bind` is not enough: it never clamps, forgets controls that are not drawn, and makes one history entry for
each control when an arrangement sets several.
"""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import streamlit as st

from components.shell import address
from components.shell.session import Key
from models.lessons.lessons import LESSONS as LESSONS_BY_KEY
from models.spec import RunConfig, knobs
from models.spec.knob import Knob
from models.spec.query import PAGE_KEYS
from models.spec.settings import run_knob

# Absolute, because relative paths start at the main script, which differs in tests.
PAGES = Path(__file__).parents[2] / "pages"
PLAYGROUND, COMPARE = PAGES / "playground.py", PAGES / "compare.py"
ANATOMY = PAGES / "anatomy.py"
START, STORY = PAGES / "start.py", PAGES / "story.py"
NET_PART = "break"  # of Start, the net to break, as a link names it
LESSONS = PAGES / "lessons.py"
MAPS = PAGES / "maps.py"

put = address.put

LINK_NOTES: Key[list[str]] = Key("link_notes", [])  # on values of the link that were changed
LINK_RERUN = Key("link_rerun", False)  # whether to compute the link's run again and compare its digest


def adopt() -> list[str]:
    """Before the widgets: sets them to the configuration of the address; returns notes on values that were changed."""
    query = st.query_params.to_dict()
    with address.adopting("digest", *knobs(), *_unknown_keys(query)) as is_new:
        if is_new:
            cfg, notes = RunConfig.from_query(query)
            put({name: getattr(cfg, name) for name in knobs()})
            LINK_NOTES.put(notes)
            LINK_RERUN.put("digest" in query)
    return LINK_NOTES.get()


def write(cfg: RunConfig) -> None:
    """After the widgets: writes the configuration into the address. A digest stays only with its own run."""
    before, query = st.query_params.to_dict(), cfg.to_query()
    removed = [*(set(knobs()) - set(query)), *_unknown_keys(before)]
    if query != {key: value for key, value in before.items() if key not in PAGE_KEYS}:
        removed.append("digest")
    address.collect_changes(dict.fromkeys(removed) | query)
    address.write_changes()  # now, because another click may interrupt the long rest of the run


def _unknown_keys(query: Iterable[str]) -> list[str]:
    """The keys of an address that belong to no page and no field, such as the one that stands for several fields."""
    return [key for key in query if key not in PAGE_KEYS and key not in knobs()]


def with_glossary_link(text: str, word: str) -> str:
    """A text with a link to a word of the glossary, relative so that it works under a base path."""
    return f"{text} [Glossary](glossary?word={quote(word.casefold(), safe='')})"


def field_help(field: str) -> str:
    """The help text of a run's field, with links to its term and to its lesson if it has one."""
    return help_text(field, run_knob(field)) or ""


def help_text(field: str, knob: Knob) -> str | None:
    """The help text of a field with this knob, with links; None if it has none."""
    if not knob.word:
        return knob.help or None
    lesson = "".join(
        f" [Lesson {number}](lessons?lesson={key})"
        for number, (key, lesson) in enumerate(LESSONS_BY_KEY.items(), start=1)
        if lesson.field == field
    )
    return with_glossary_link(knob.help + lesson, knob.word)


def dismiss_notes() -> None:
    LINK_NOTES.put([])
