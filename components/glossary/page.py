"""The glossary: one term in full, chosen here or in the address, and a list to search."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import streamlit as st

from components.controls import form
from components.shell import session
from components.shell.link import PAGES
from components.shell.sources import cited
from models.lessons.glossary import ENTRIES, GlossaryEntry, Term, key_of, near, search
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY, CHOSEN = "glossary", "glossary_word"
MET = {page.stem: page for page in PAGES.glob("*.py")}  # by its address
BASICS = ("signal", "gradient", "loss", "block", "residual", "norm", "rms", "weight gradient")  # of every page


@dataclass(frozen=True)
class GlossaryShown(Settings):
    """The open term, and what the list is searched for."""

    word: Annotated[str | None, Knob("Term", choices={})] = None
    search: Annotated[str, Knob("Search", high=100)] = ""


def draw() -> None:
    """The open term, and the list."""
    terms = {"word": {key: entry.word for key, entry in ENTRIES.items()}}
    form.keep(GlossaryShown, KEY, only=["word"], legal=terms, near=_nearest)
    tip = "Choose a term, or type a part of it"
    word = form.draw(GlossaryShown, KEY, kept=True, only=["word"], legal=terms, index=None, placeholder=tip).word
    _ways("Begin with", BASICS, "glossary_basics")
    if word is not None:
        _open(ENTRIES[word])
    _list()


def meaning(sense: Term) -> str:
    """A sense as Markdown: category, text, formula, and source with links to the papers."""
    of = f"*{sense.of}* · " if sense.of else ""
    formula = f" ${sense.formula}$" if sense.formula else ""
    linked = cited(_plain(sense.source))
    return f"{of}{_plain(sense.text)}{formula}" + (f" ({linked})" if linked else "")


def _nearest(asked: str) -> str:
    """The term spelled most like one that the glossary lacks."""
    close = near(asked.replace("-", " "))
    return f" Did you mean **{ENTRIES[close].word}**?" if close else ""


def _open(entry: GlossaryEntry) -> None:
    with st.container(border=True):
        st.subheader(entry.word, anchor=False)
        for sense in entry.senses:
            st.markdown(meaning(sense))
        others = list(dict.fromkeys(key_of(word) for sense in entry.senses for word in sense.see))
        others = [word for word in others if word != key_of(entry.word)]
        if others:
            _ways("See also", others, f"glossary_see_{key_of(entry.word)}")
        st.caption("Appears in")
        with st.container(horizontal=True):
            for address in dict.fromkeys(page for sense in entry.senses for page in sense.met):
                st.page_link(MET[address])


def _ways(label: str, words: Sequence[str], key: str) -> None:
    """Terms to open with a press."""

    def follow() -> None:
        session.set_widget(CHOSEN, session.widget_value(key))
        session.set_widget(key, None)

    st.pills(label, words, format_func=lambda word: ENTRIES[word].word, key=key, on_change=follow)


def _list() -> None:
    tip = "Any part of a term or of its meaning"
    entries = search(form.draw(GlossaryShown, KEY, only=["search"], placeholder=tip).search)
    if not entries:
        st.info(f"None of the {len(ENTRIES)} terms or their meanings contains all of that.")
        return
    st.caption(f"{len(entries)} of {len(ENTRIES)} terms")
    lines = [
        f"- **{_plain(ENTRIES[key].word)}**: " + "; ".join(meaning(one) for one in ENTRIES[key].senses)
        for key in entries
    ]
    st.markdown("\n".join(lines))


def _plain(text: str) -> str:
    """Text with everything escaped that Markdown would interpret, but `code`."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\\*_\[\]$~#<>])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)
