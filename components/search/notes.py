"""Beside your notes: for each heading of a document that teaches this, where the app has it, and the right number."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

import streamlit as st

from components.controls import form
from components.shell.hidden_parts import hides_anything
from models.content import Content, Document, Texts
from models.lessons.stops import read_stop
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("search")
KEY = "notes"


@dataclass(frozen=True)
class NotesStop:
    """A heading of the notes, where it leads and what is there. `printed`: what notes often print for `of`."""

    heading: str
    says: str
    link: str
    printed: str
    right: str
    of: str


def _paths(texts: list[Document]) -> dict[str, tuple[NotesStop, ...]]:
    """Stops by the title of their notes; ContentError for a link that leads nowhere."""
    paths = {}
    for text in texts:
        title, stops = text.take("title", str), []
        for table in text.take("stops", list):
            stop = Document(text.path, dict(table))
            required = [stop.take(name, str) for name in ("heading", "says", "link")]
            stops.append(NotesStop(*required, *(stop.take(name, str, "") for name in ("printed", "right", "of"))))
            stop.require_all_taken()
            try:
                read_stop(stops[-1].link)
            except ValueError as error:
                raise text.fault(str(error), stops[-1].link) from None
        paths[title] = tuple(stops)
    return paths


PATHS = Content("notes/*.toml", _paths)


@dataclass(frozen=True)
class NotesShown(Settings):
    """The notes that somebody came with."""

    choice: Annotated[str | None, Knob("Your notes", choices={}, link=KEY)] = None


def draw() -> None:
    """Draws a choice of notes, and the stops of the chosen ones with a plan for a class; nothing where a link hides."""
    if hides_anything():
        return
    legal = {"choice": list(PATHS)}
    chosen = form.keep(NotesShown, KEY, legal=legal).choice
    with st.expander(TEXTS("beside your notes"), icon=":material/menu_book:", expanded=chosen is not None):
        form.draw(NotesShown, KEY, is_kept=True, legal=legal, index=None, placeholder=TEXTS("which notes"))
        if chosen is None:
            return
        stops = PATHS[chosen]
        st.markdown("\n".join(f"- {_line(stop)}" for stop in stops))
        plan = urlencode({"plan": ",".join(dict.fromkeys(read_stop(stop.link)[0] for stop in stops))})
        st.markdown(TEXTS("as a plan", link=f"teacher?{plan}"))


def _line(stop: NotesStop) -> str:
    """A stop as Markdown: its heading as a link, a sentence, and the printed number beside the right one."""
    number = (
        TEXTS("printed", **{name: getattr(stop, name) for name in ("of", "printed", "right")}) if stop.right else ""
    )
    return f"[{stop.heading}]({stop.link}): {stop.says} {number}".strip()
