"""Presets: the four nets of Start and GPT-2's arrangement, each with a hint on where to look before training."""

import streamlit as st

from components.controls import panel
from components.shell import session
from components.shell.address import put, reapply_widgets
from models.content import Texts
from models.spec import RunConfig, knobs

TEXTS = Texts("playground")

KEY = "preset"
PRESETS = {  # by name, which is also the key of the hint in TEXTS; no hint gives the outcome away
    "works": RunConfig(),
    "vanishes": RunConfig(residual=False, norm="none"),
    "explodes": RunConfig(norm="none"),
    "collapses": RunConfig(residual=False),
    "GPT-2 stays level": RunConfig.arranged("pre-norm + GPT-2 init", net="transformer", task="book", depth=8, batch=32),
}


def preset_hint(cfg: RunConfig) -> str:
    """Where to look in a preset's net; empty for other nets, or where a link hides what presets set."""
    hint = next((TEXTS(name) for name, preset in PRESETS.items() if preset == cfg), "")
    return hint if panel.shows_arrangements(knobs()) else ""


def draw_presets() -> None:
    """Draws the menu of presets, unless a link hides what they set."""
    if panel.shows_arrangements(knobs()):
        st.menu_button("Presets", list(PRESETS), key=KEY, on_click=_adopt)


def _adopt() -> None:
    reapply_widgets()
    preset = PRESETS.get(str(session.widget_value(KEY)))
    if preset is not None:
        put({name: getattr(preset, name) for name in knobs()})
