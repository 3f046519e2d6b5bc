"""Presets: the four nets of Start and GPT-2's arrangement, each with a sentence that says where to look."""

from dataclasses import dataclass

import streamlit as st

from components.controls import panel
from components.shell import session
from components.shell.address import put, put_again
from components.shell.hide import hidden
from models.spec import RunConfig, knobs

KEY = "preset"


@dataclass(frozen=True)
class Preset:
    """A configuration, and where to look."""

    cfg: RunConfig
    look: str


PRESETS = {
    "works": Preset(
        RunConfig(),
        "Look at the gradient: block 1 receives more of it than block 32, and after 300 steps nine of ten unseen "
        "digits are right.",
    ),
    "vanishes": Preset(
        RunConfig(residual=False, norm="none"),
        "Look at the right end of the signal and the left end of the gradient: less than 1/10,000 of either gets "
        "through, and the loss stays at that of guessing.",
    ),
    "explodes": Preset(
        RunConfig(norm="none"),
        "Look at the right end of the signal: it leaves more than 100 times as large as it entered, and within "
        "ten steps the numbers overflow.",
    ),
    "collapses": Preset(
        RunConfig(residual=False),
        "Signal and gradient look fine, within a factor of two. Look at the cosine further down: any two digits "
        "leave in nearly the same direction, and the loss stays at that of guessing.",
    ),
    "GPT-2 does": Preset(
        RunConfig.arranged("pre-norm + GPT-2 init", net="transformer", task="book", depth=8, batch=32),
        "Look at the signal before training: smaller output matrices keep it within a factor of two. By step 60 the "
        "net predicts letters better than their frequencies do.",
    ),
}


def where_to_look(cfg: RunConfig) -> str:
    """The sentence of the preset that is set, after a space; empty where none is, or where a link hides it."""
    look = next((one.look for one in PRESETS.values() if one.cfg == cfg), "")
    return f" {look}" if look and panel.arranges(knobs()) and not hidden("verdict") else ""


def presets(cfg: RunConfig) -> None:
    """The row of presets. Not drawn where a link hides what they set."""
    if not panel.arranges(knobs()):
        return
    put({KEY: next((name for name, one in PRESETS.items() if one.cfg == cfg), None)})
    st.pills("Presets", list(PRESETS), key=KEY, on_change=_begin, persist_state="session")


def _begin() -> None:
    put_again()
    chosen = PRESETS.get(str(session.held(KEY)))
    if chosen is not None:
        put({name: getattr(chosen.cfg, name) for name in knobs()})
