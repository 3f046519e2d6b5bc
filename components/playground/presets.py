"""Presets: the four nets of Start and GPT-2's arrangement, each with where to look before training."""

import streamlit as st

from components.controls import panel
from components.shell import session
from components.shell.address import put, put_again
from models.content import Texts
from models.spec import RunConfig, knobs

TEXTS = Texts("playground")

KEY = "preset"


# By name, which is also the section that says where to look before training: what comes of it, a visitor sees.
PRESETS = {
    "works": RunConfig(),
    "vanishes": RunConfig(residual=False, norm="none"),
    "explodes": RunConfig(norm="none"),
    "collapses": RunConfig(residual=False),
    "GPT-2 stays level": RunConfig.arranged("pre-norm + GPT-2 init", net="transformer", task="book", depth=8, batch=32),
}


def where_to_look(cfg: RunConfig) -> str:
    """The sentence of the preset that is set; empty where none is, or where a link hides the presets."""
    look = next((TEXTS(name) for name, one in PRESETS.items() if one == cfg), "")
    return look if panel.arranges(knobs()) else ""


def presets(cfg: RunConfig) -> None:
    """The row of presets. Not drawn where a link hides what they set."""
    if not panel.arranges(knobs()):
        return
    put({KEY: next((name for name, one in PRESETS.items() if one == cfg), None)})
    st.pills("Presets", list(PRESETS), key=KEY, on_change=_begin, persist_state="session", label_visibility="collapsed")


def _begin() -> None:
    put_again()
    chosen = PRESETS.get(str(session.widget_value(KEY)))
    if chosen is not None:
        put({name: getattr(chosen, name) for name in knobs()})
