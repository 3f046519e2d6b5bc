"""The configuration in the address bar: adopted from a link, written when a control is moved.

Streamlit's `bind` does not serve: it never clamps, forgets controls that are not drawn, and makes a history entry per
control when an arrangement sets several.
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
from models.spec.query import FOREIGN
from models.spec.settings import of_run

# Absolute, because relative paths start at the main script, which is another one in tests.
PAGES = Path(__file__).parents[2] / "pages"
PLAYGROUND, COMPARE = PAGES / "playground.py", PAGES / "compare.py"
ANATOMY = PAGES / "anatomy.py"
START, STORY = PAGES / "start.py", PAGES / "story.py"
LESSONS = PAGES / "lessons.py"
MAPS = PAGES / "maps.py"
TAUGHT = ("init",)  # fields with a lesson of the same key

put = address.put

LINK_NOTES: Key[list[str]] = Key("link_notes", [])  # on what was changed in the link's configuration
LINK_RERUN = Key("link_rerun", False)  # whether the link's run is to be computed again and compared


def adopt() -> list[str]:
    """Before the widgets: puts the configuration of the address into their state; returns notes on what was changed."""
    query = st.query_params.to_dict()
    with address.adopting("digest", *knobs(), *_strange(query)) as fresh:
        if fresh:
            cfg, notes = RunConfig.from_query(query)
            put({name: getattr(cfg, name) for name in knobs()})
            LINK_NOTES.put(notes)
            LINK_RERUN.put("digest" in query)
    return LINK_NOTES.get()


def write(cfg: RunConfig) -> None:
    """After the widgets: writes the configuration into the address. Foreign keys stay, a digest only with its run."""
    before, query = st.query_params.to_dict(), cfg.to_query()
    other = query != {key: value for key, value in before.items() if key not in FOREIGN}
    gone = [*(set(knobs()) - set(query)), *_strange(before), *(["digest"] if other else [])]
    address.change(dict.fromkeys(gone) | query)
    address.settle()  # now: the rest of the run takes long, and may be cut short by another press


def _strange(query: Iterable[str]) -> list[str]:
    """The keys of an address that are neither a page's nor a field's, with the one that stands for several fields."""
    return [key for key in query if key not in FOREIGN and key not in knobs()]


def defined(tip: str, word: str) -> str:
    """A help text with a link to a word of the glossary, relative so that it works under a base path."""
    return f"{tip} [Glossary](glossary?word={quote(word.casefold(), safe='')})"


def help_of(field: str) -> str:
    """The help text of a run's field, with the way to its term, and to its lesson if it has one."""
    return tip(field, of_run(field)) or ""


def tip(field: str, knob: Knob) -> str | None:
    """The help text of a field by its knob; None without one."""
    if not knob.word:
        return knob.help or None
    lesson = f" [Lesson {list(LESSONS_BY_KEY).index(field) + 1}](lessons?lesson={field})" if field in TAUGHT else ""
    return defined(knob.help + lesson, knob.word)


def dismiss_notes() -> None:
    """Dismisses the notes about the last link."""
    LINK_NOTES.put([])
