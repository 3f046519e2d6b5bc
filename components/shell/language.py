"""The language of a visit, `?lang=`: an edition of `content/`, which falls back to English."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import streamlit as st

from components.shell.session import Key
from components.shell.streamlits_own import session_id
from models import content

KEY = "lang"
LANGUAGE = Key("language", content.FOLDER.name)
LAST_REQUEST: Key[str | None] = Key("language_asked", None)  # the language last seen in the address

READER = ContextVar("reader", default=content.FOLDER.name)  # of what is written outside of a page
content.edition = lambda: LANGUAGE.get() if session_id() else READER.get()


@contextmanager
def reading(language: str) -> Iterator[None]:
    """Writes texts outside of a page in a language; in English if there is no edition of it."""
    is_edition = language not in ("", READER.get()) and language in content.editions()
    token = READER.set(language) if is_edition else None
    try:
        yield
    finally:
        if token is not None:
            READER.reset(token)


def adopt() -> None:
    """Once per script run, before the page: takes the language of the address if it has changed."""
    requested = st.query_params.get(KEY)
    if requested != LAST_REQUEST.get():
        LAST_REQUEST.put(requested)
        if requested in content.editions():
            LANGUAGE.put(requested)


def use(language: str) -> None:
    """Takes the language of whoever leads this visit, if there is an edition of it."""
    if language != LANGUAGE.get() and language in content.editions():
        LANGUAGE.put(language)


def query() -> dict[str, str]:
    """The language for the address of every page of the visit; empty until the visitor has chosen one."""
    if not LANGUAGE.is_set:
        return {}
    LAST_REQUEST.put(LANGUAGE.get())  # the address has it from now on
    return {KEY: LANGUAGE.get()}


def draw_choice() -> None:
    """A button for every other language."""
    with st.container(horizontal=True):
        for language, name in content.editions().items():
            if language != LANGUAGE.get():
                st.button(name, key=f"language_{language}", type="tertiary", on_click=_choose, args=(language,))


def _choose(language: str) -> None:
    LANGUAGE.put(language)
    st.query_params[KEY] = language
