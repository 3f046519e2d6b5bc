"""Presets: the four nets of Start and GPT-2's arrangement, each with where to look before training."""

from dataclasses import dataclass

import streamlit as st

from components.controls import panel
from components.shell import session
from components.shell.address import put, put_again
from models.spec import RunConfig, knobs

KEY = "preset"


@dataclass(frozen=True)
class Preset:
    """A configuration, and where to look before training: what comes of it, a visitor sees."""

    cfg: RunConfig
    look: str


PRESETS = {
    "works": Preset(
        RunConfig(),
        "Look at the gradient: block 1 receives more of it than block 32.",
    ),
    "vanishes": Preset(
        RunConfig(residual=False, norm="none"),
        "Look at both ends: less than 1/10,000 gets through.",
    ),
    "explodes": Preset(
        RunConfig(norm="none"),
        "Look at the right end: the signal leaves more than 100 times as large as it entered.",
    ),
    "collapses": Preset(
        RunConfig(residual=False),
        "Look at the ten digits: they run together onto one spot.",
    ),
    "GPT-2 stays level": Preset(
        RunConfig.arranged("pre-norm + GPT-2 init", net="transformer", task="book", depth=8, batch=32),
        "Look at the signal: smaller output matrices keep it within a factor of two.",
    ),
}


def where_to_look(cfg: RunConfig) -> str:
    """The sentence of the preset that is set; empty where none is, or where a link hides the presets."""
    look = next((one.look for one in PRESETS.values() if one.cfg == cfg), "")
    return look if panel.arranges(knobs()) else ""


def presets(cfg: RunConfig) -> None:
    """The row of presets. Not drawn where a link hides what they set."""
    if not panel.arranges(knobs()):
        return
    put({KEY: next((name for name, one in PRESETS.items() if one.cfg == cfg), None)})
    st.pills("Presets", list(PRESETS), key=KEY, on_change=_begin, persist_state="session", label_visibility="collapsed")


def _begin() -> None:
    put_again()
    chosen = PRESETS.get(str(session.widget_value(KEY)))
    if chosen is not None:
        put({name: getattr(chosen.cfg, name) for name in knobs()})
