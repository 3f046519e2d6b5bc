"""The instruments below the playground's charts. Only the open one is drawn and measured.

CONTRIBUTING.md, "How to add", lists the parts of a new one.
"""

from dataclasses import dataclass
from typing import Annotated

import streamlit as st

from components.controls import form
from components.instruments.check import CHECK
from components.instruments.collapse import COLLAPSE
from components.instruments.distributions import DISTRIBUTIONS
from components.instruments.formula import FORMULA
from components.instruments.health import HEALTH
from components.instruments.landscape import LANDSCAPE
from components.instruments.lens import LENS
from components.instruments.panel import INSTRUMENT, Instrument, InstrumentPanel
from components.instruments.paths import PATHS
from components.instruments.postmortem import POST_MORTEM
from components.instruments.stream import STREAM
from components.instruments.surgery import SURGERY
from components.player.view import View
from components.server.tickets import Playhead
from components.shell.cards import ChoiceCard, draw_cards
from components.shell.hidden_parts import is_hidden
from components.shell.text import badge
from models.spec.knob import Knob
from models.spec.settings import Settings

INSTRUMENTS: dict[str, Instrument] = {
    "Formula over measurement": FORMULA,
    "Where the gradient came from": PATHS,
    "Stream and branches": STREAM,
    "Distributions": DISTRIBUTIONS,
    "Health": HEALTH,
    "Collapse": COLLAPSE,
    "Attention and lens": LENS,
    "Surgery": SURGERY,
    "Landscape": LANDSCAPE,
    "Post-mortem": POST_MORTEM,
    "Check this number": CHECK,
}
HIDDEN_WITH = {"Formula over measurement": "theory", "Post-mortem": "verdict"}  # the part of a page that they show


@dataclass(frozen=True)
class OpenInstrument(Settings):
    """The open instrument, under the key of `INSTRUMENT`."""

    instrument: Annotated[str | None, Knob("Instrument", choices={})] = None


def draw_instruments(view: View, playhead: Playhead, player: str) -> bool:
    """Draws a player's instruments as cards, and the open one. Returns whether it waits for an answer."""
    names = [name for name in INSTRUMENTS if not (name in HIDDEN_WITH and is_hidden(HIDDEN_WITH[name]))]
    chosen = form.keep(OpenInstrument, "", legal={"instrument": names}).instrument
    st.subheader("Instruments", anchor=False, help="Each measures the net at the step shown.")
    deck = [ChoiceCard(name, INSTRUMENTS[name].question, INSTRUMENTS[name].unfit(view)) for name in names]
    draw_cards("Instruments", deck, chosen, key="instruments", choose=_toggle, opens=True, brief=True)
    if chosen is None:
        return False
    instrument = INSTRUMENTS[chosen]
    with st.container(border=True, key="instrument_opened"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader(chosen, anchor=False, help=instrument.help)
            st.markdown(instrument.question)
            st.markdown(badge(instrument.badge))
        unfit = instrument.unfit(view)
        if unfit:
            st.info(unfit)
            return False
        panel = InstrumentPanel(chosen, view, playhead, player=player)
        instrument.draw(panel)
    return panel.waiting


def _toggle(name: str) -> None:
    """Opens an instrument, or closes it if it is open."""
    INSTRUMENT.put(None if INSTRUMENT.get() == name else name)
