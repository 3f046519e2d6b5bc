"""The glossary page: a word in full, opened by the address or chosen, and all words to search in."""

import re

import streamlit as st

from components.link import CAME_FROM, HERE, PAGES
from models.lessons.glossary import ENTRIES, Entry, Sense, find, key_of, near, search

KEY = "word"
CHOSEN, TAKEN, SEARCH = "glossary_word", "glossary_taken", "glossary_search"
MET = {
    "": (PAGES / "start" / "start.py", "Start"),
    "playground": (PAGES / "train" / "playground.py", "Playground"),
    "compare": (PAGES / "train" / "compare.py", "Compare"),
    "anatomy": (PAGES / "explore" / "anatomy.py", "Anatomy"),
    "lessons": (PAGES / "learn" / "lessons.py", "Lessons"),
    **{
        lab: (PAGES / "labs" / f"{lab}.py", title)
        for lab, title in {
            "normalization": "Normalisation",
            "attention": "Attention",
            "gradients": "Gradients",
            "residual": "Residual",
            "autoregression": "Autoregression",
        }.items()
    },
}
PAPER = re.compile(r"\b(\d{4}\.\d{4,5})\b")


def draw() -> None:
    """The word that is open, and the list."""
    _adopt()
    st.selectbox(
        "Word",
        list(ENTRIES),
        index=None,
        key=CHOSEN,
        format_func=lambda key: ENTRIES[key].word,
        placeholder="Choose a word, or type a part of it",
        persist_state="session",
    )
    word = st.session_state[CHOSEN]
    _write(word)
    if word is not None:
        _open(ENTRIES[word])
    _list()


def meaning(sense: Sense) -> str:
    """A sense as Markdown: what it is of, its sentences, its formula and its source with links to the papers."""
    of = f"*{sense.of}* · " if sense.of else ""
    formula = f" ${sense.formula}$" if sense.formula else ""
    linked = PAPER.sub(r"[\1](https://arxiv.org/abs/\1)", _plain(sense.source))
    return f"{of}{_plain(sense.text)}{formula}" + (f" ({linked})" if linked else "")


def _adopt() -> None:
    """Takes the word from an address that this visitor's page did not write; says where there is none of that name.

    An empty address is a walk from another page, which keeps the word, or the way back to before the first word.
    """
    asked, walked = st.query_params.get(KEY), st.session_state[CAME_FROM] != st.session_state[HERE]
    if asked is None and st.session_state.get(TAKEN) is not None and not walked:
        st.session_state[CHOSEN] = st.session_state[TAKEN] = None
    if asked is not None and asked != st.session_state.get(TAKEN):
        found = find(asked)
        st.session_state[CHOSEN] = key_of(found.word) if found else None
        st.session_state[TAKEN] = asked
    if asked is not None and find(asked) is None and st.session_state.get(CHOSEN) is None:
        close = near(asked)
        also = f" The nearest is **{ENTRIES[close].word}**." if close else ""
        st.info(f"The glossary has no word of that name.{also}")


def _write(word: str | None) -> None:
    """The open word into the address; one that is closed out of it."""
    asked = st.query_params.get(KEY)
    if word is not None and asked != word:
        st.session_state[TAKEN] = word  # before the write: a rerun may cut in
        st.query_params[KEY] = word
    elif word is None and asked is not None and find(asked):
        st.session_state[TAKEN] = None
        del st.query_params[KEY]


def _open(entry: Entry) -> None:
    with st.container(border=True):
        st.subheader(entry.word, anchor=False)
        for sense in entry.senses:
            st.markdown(meaning(sense))
        others = list(dict.fromkeys(key_of(word) for sense in entry.senses for word in sense.see))
        others = [word for word in others if word != key_of(entry.word)]
        if others:
            key = f"glossary_see_{key_of(entry.word)}"

            def follow() -> None:
                st.session_state[CHOSEN], st.session_state[key] = st.session_state[key], None

            st.pills("See also", others, format_func=lambda word: ENTRIES[word].word, key=key, on_change=follow)
        st.caption("Met in")
        with st.container(horizontal=True):
            for address in dict.fromkeys(page for sense in entry.senses for page in sense.met):
                page, title = MET[address]
                st.page_link(page, label=title)


def _list() -> None:
    text = st.text_input("Search", key=SEARCH, persist_state="session", placeholder="Any part of a word or of its meaning")
    found = search(text)
    if not found:
        st.info(f"None of the {len(ENTRIES)} words, and none of their meanings, holds all of that.")
        return
    st.caption(f"{len(found)} of {len(ENTRIES)} words")
    lines = [f"- **{_plain(ENTRIES[key].word)}**: " + "; ".join(meaning(one) for one in ENTRIES[key].senses) for key in found]
    st.markdown("\n".join(lines))


def _plain(text: str) -> str:
    """Text whose stars, underscores, brackets, colons and dollars mean nothing to Markdown."""
    return re.sub(r"([\\*_\[\]$`~#<>])", r"\\\1", text)
