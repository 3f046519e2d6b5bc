"""The language of a visit, `?lang=`: an edition, which is a folder of `content/`. What it lacks is English."""

import streamlit as st

from components.shell.session import Key
from components.shell.streamlits_own import session_id
from models import content

KEY = "lang"
LANGUAGE = Key("language", content.FOLDER.name)
LANGUAGE_ASKED: Key[str | None] = Key("language_asked", None)  # what the address said last

content.edition = lambda: LANGUAGE.get() if session_id() else content.FOLDER.name


def adopt() -> None:
    """Once per script run, before the page: takes the language of the address, where it has changed."""
    asked = st.query_params.get(KEY)
    if asked != LANGUAGE_ASKED.get():
        LANGUAGE_ASKED.put(asked)
        if asked in content.editions():
            LANGUAGE.put(asked)


def query() -> dict[str, str]:
    """What the address says of it on every page of the visit."""
    if not LANGUAGE.there:
        return {}
    LANGUAGE_ASKED.put(LANGUAGE.get())  # because the address says it from now on
    return {KEY: LANGUAGE.get()}


def choice() -> None:
    """A button for every other language."""
    with st.container(horizontal=True):
        for language, name in content.editions().items():
            if language != LANGUAGE.get():
                st.button(name, key=f"language_{language}", type="tertiary", on_click=_choose, args=(language,))


def _choose(language: str) -> None:
    LANGUAGE.put(language)
    st.query_params[KEY] = language
