"""The instruments below the playground's charts: the folders of `exhibits/instruments/`, as their words announce them.

Only the open one is imported, drawn and measured. CONTRIBUTING.md, "How to add", says what a new one has.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated

import streamlit as st

from components.controls import form
from components.instruments.panel import INSTRUMENT, InstrumentPanel
from components.player.view import View
from components.server.tickets import Playhead
from components.shell import session
from components.shell.cards import ChoiceCard, draw_cards
from components.shell.hidden_parts import is_hidden
from components.shell.text import badge
from models.content import Content, Document
from models.exhibits import part
from models.insight.postmortem import has_failed
from models.spec.knob import Knob
from models.spec.settings import Settings
from models.spec.vocabulary import CONNECTED

# What an instrument may need of a run; without it, the card says the section "unfit" of its words.
NEEDS: dict[str, Callable[[View], bool]] = {
    "": lambda view: True,
    "attention": lambda view: view.cfg.net == "transformer",
    "connections": lambda view: view.cfg.stack in CONNECTED,
    "failure": lambda view: has_failed(view.cfg, view.trace, view.row),
}


@dataclass(frozen=True)
class Instrument:
    """An instrument as its words announce it: folder, place among the cards, and question.

    `badge` is a key of `style.BADGES`, `needs` one of NEEDS, and `hidden_with` the part of a page that it shows.
    """

    folder: str
    order: int
    question: str
    badge: str
    needs: str
    hidden_with: str
    unfit_sentence: str

    def unfit(self, view: View) -> str:
        """Why the instrument has nothing to measure in a run; empty if it has."""
        return "" if NEEDS[self.needs](view) else self.unfit_sentence

    @property
    def page(self) -> ModuleType:
        """Its page, with `draw` and `WORDS`; imported on first use."""
        return part("instruments", self.folder, "page")


def _by_name(texts: list[Document]) -> dict[str, Instrument]:
    by_name = {}
    for text in texts:
        front = Document(text.path, dict(text.front))
        by_name[front.take("name", str)] = Instrument(
            text.path.parent.name,
            front.take("order", int),
            text.title,
            badge=front.take("badge", str, "measured"),
            needs=front.take("needs", str, ""),
            hidden_with=front.take("hidden_with", str, ""),
            unfit_sentence=text.sections.get("unfit", ""),
        )
        front.require_all_taken()
    return dict(sorted(by_name.items(), key=lambda entry: entry[1].order))


INSTRUMENTS = Content("instruments/*.md", _by_name)  # by name, in order


@dataclass(frozen=True)
class OpenInstrument(Settings):
    """The open instrument, under the key of `INSTRUMENT`."""

    instrument: Annotated[str | None, Knob("Instrument", choices={})] = None


LOOK_DEEPER = "look_deeper"  # the key of what unfolds them


def draw_instruments(view: View, playhead: Playhead, player: str) -> bool:
    """Draws a player's instruments, folded until one is named or sought. Returns whether one waits for an answer."""
    instruments = {name: entry for name, entry in INSTRUMENTS.items() if not is_hidden(entry.hidden_with)}
    chosen = form.keep(OpenInstrument, "", legal={"instrument": list(instruments)}).instrument
    if chosen is not None:
        session.set_widget(LOOK_DEEPER, True)
    with st.expander("Look deeper", key=LOOK_DEEPER, on_change=_fold) as folded:
        return bool(folded.open) and _draw_cards(instruments, chosen, view, playhead, player)


def _draw_cards(
    instruments: Mapping[str, Instrument], chosen: str | None, view: View, playhead: Playhead, player: str
) -> bool:
    """Draws a card for each instrument, and the chosen one. Returns whether it waits for an answer."""
    deck = [ChoiceCard(name, instrument.question, instrument.unfit(view)) for name, instrument in instruments.items()]
    draw_cards("Instruments", deck, chosen, key="instruments", choose=_toggle, opens=True, brief=True)
    if chosen is None:
        return False
    instrument = instruments[chosen]
    with st.container(border=True, key="instrument_opened"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader(chosen, anchor=False, help=instrument.page.WORDS("explanation"))
            st.markdown(instrument.question)
            st.markdown(badge(instrument.badge))
        unfit = instrument.unfit(view)
        if unfit:
            st.info(unfit)
            return False
        panel = InstrumentPanel(chosen, view, playhead, player=player)
        instrument.page.draw(panel)
    return panel.waiting


def _fold() -> None:
    """Closes the open instrument with all."""
    if not session.widget_value(LOOK_DEEPER):
        INSTRUMENT.put(None)


def _toggle(name: str) -> None:
    """Opens an instrument, or closes it if it is open."""
    INSTRUMENT.put(None if INSTRUMENT.get() == name else name)
