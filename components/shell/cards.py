"""Cards of which at most one is chosen: each has a name and a text, or the reason why it cannot be chosen."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from components.shell import session
from components.shell.component import component

_component = component(__file__, '<div class="cards" role="radiogroup"></div>')


@dataclass(frozen=True)
class ChoiceCard:
    """A card. `unfit`: why it cannot be chosen; empty if it can. `mark`: a word in its corner."""

    name: str
    text: str
    unfit: str = ""
    mark: str = ""


def draw_cards(
    label: str,
    cards: Sequence[ChoiceCard],
    chosen: str | None,
    *,
    key: str,
    choose: Callable[[str], None],
    opens: bool = False,
    brief: bool = False,
) -> None:
    """Draws the cards; a click calls `choose`, a callback, with a card's name.

    `opens`: whether a card opens a part of this page under its name, to which the browser scrolls. `brief`: shows only
    names; a tooltip and a screen reader give the texts.
    """

    def pass_on() -> None:
        name = getattr(session.widget_value(key), "chosen", None)
        if any(name == card.name and not card.unfit for card in cards):  # it comes from a browser
            choose(str(name))

    data = {
        "label": label,
        "cards": [asdict(card) for card in cards],
        "chosen": chosen,
        "opens": opens,
        "brief": brief,
    }
    _component(key=key, data=data, on_chosen_change=pass_on)


def draw_navigation(noun: str, keys: Sequence[str], chosen: str, choose: Callable[[str | None], None]) -> None:
    """Buttons above the page of a chosen card: back to all cards, and on to the next. `choose`: a callback."""
    later = keys[keys.index(chosen) + 1 :]
    with st.container(horizontal=True):
        st.button(f"All {noun}s", icon=":material/grid_view:", type="tertiary", on_click=choose, args=(None,))
        if later:
            icon = ":material/arrow_forward:"
            st.button(f"Next {noun}", icon=icon, type="tertiary", on_click=choose, args=(later[0],))
