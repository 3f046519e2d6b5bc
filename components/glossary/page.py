"""The glossary: one term in full, chosen here or in the address, and a list of all."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import streamlit as st

from components.controls import form
from components.shell import session
from components.shell.link import PAGES
from components.shell.sources import with_links
from models.lessons.glossary import ENTRIES, GlossaryEntry, Term, key_of, nearest_term
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "glossary"
CHOSEN = "glossary_word"  # session key of the open term
SCRIPTS = {page.stem: page for page in PAGES.glob("*.py")}  # a page's script by its address
BASICS = ("signal", "gradient", "loss", "block", "residual", "norm", "rms", "weight gradient")  # terms of every page


@dataclass(frozen=True)
class GlossaryShown(Settings):
    """The open term."""

    word: Annotated[str | None, Knob("Term", choices={})] = None


def draw() -> None:
    """Draws the open term, and the list."""
    terms = {"word": {key: entry.word for key, entry in ENTRIES.items()}}
    form.keep(GlossaryShown, KEY, legal=terms, near=_suggestion)
    tip = "Choose a term, or type a part of it"
    word = form.draw(GlossaryShown, KEY, is_kept=True, legal=terms, index=None, placeholder=tip).word
    _draw_term_buttons("Begin with", BASICS, "glossary_basics")
    if word is not None:
        _draw_entry(ENTRIES[word])
    _draw_list()


def meaning(sense: Term) -> str:
    """A sense as Markdown: category, text, formula, and source with links to the papers."""
    category = f"*{sense.category}* · " if sense.category else ""
    formula = f" ${sense.formula}$" if sense.formula else ""
    source = with_links(_escaped(sense.source))
    return f"{category}{_escaped(sense.text)}{formula}" + (f" ({source})" if source else "")


def _suggestion(missing: str) -> str:
    """A question that names the term spelled most like a missing one; empty if none is close."""
    nearest = nearest_term(missing.replace("-", " "))
    return f" Did you mean **{ENTRIES[nearest].word}**?" if nearest else ""


def _draw_entry(entry: GlossaryEntry) -> None:
    with st.container(border=True):
        st.subheader(entry.word, anchor=False)
        for sense in entry.senses:
            st.markdown(meaning(sense))
        others = list(dict.fromkeys(key_of(word) for sense in entry.senses for word in sense.related))
        others = [word for word in others if word != key_of(entry.word)]
        if others:
            _draw_term_buttons("See also", others, f"glossary_see_{key_of(entry.word)}")
        st.caption("Appears in")
        with st.container(horizontal=True):
            for address in dict.fromkeys(page for sense in entry.senses for page in sense.pages):
                st.page_link(SCRIPTS[address])


def _draw_term_buttons(label: str, words: Sequence[str], key: str) -> None:
    def follow() -> None:
        session.set_widget(CHOSEN, session.widget_value(key))
        session.set_widget(key, None)

    st.pills(label, words, format_func=lambda word: ENTRIES[word].word, key=key, on_change=follow)


def _draw_list() -> None:
    st.caption(f"{len(ENTRIES)} terms")
    lines = []
    for key in ENTRIES:
        meanings = "; ".join(meaning(sense) for sense in ENTRIES[key].senses)
        lines.append(f"- **{_escaped(ENTRIES[key].word)}**: {meanings}")
    st.markdown("\n".join(lines))


def _escaped(text: str) -> str:
    """Text with all Markdown escaped, except code in backticks."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\\*_\[\]$~#<>])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)
