"""Cards of which one or none is chosen: each has a name and a text, or why it cannot be chosen."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from components.shell import session
from components.shell.component import component

_component = component(__file__, '<div class="cards" role="radiogroup"></div>')


@dataclass(frozen=True)
class ChoiceCard:
    """A card; `unfit`: why it cannot be chosen, empty if it can; `mark`: a word in its corner."""

    name: str
    text: str
    unfit: str = ""
    mark: str = ""


def cards(
    label: str,
    offered: Sequence[ChoiceCard],
    chosen: str | None,
    *,
    key: str,
    choose: Callable[[str], None],
    opens: str = "",
    brief: bool = False,
) -> None:
    """Draws the cards; a click calls `choose`, a callback, with a card's name.

    `opens`: the key of the container that it opens on this page, which is brought into sight. `brief`: names alone,
    whose text is said on hovering and to a screen reader.
    """

    def pressed() -> None:
        name = getattr(session.widget_value(key), "chosen", None)
        if any(name == card.name and not card.unfit for card in offered):  # it comes from a browser
            choose(str(name))

    data = {
        "label": label,
        "cards": [asdict(card) for card in offered],
        "chosen": chosen,
        "opens": opens,
        "brief": brief,
    }
    _component(key=key, data=data, on_chosen_change=pressed)


def leave(what: str, keys: Sequence[str], chosen: str, choose: Callable[[str | None], None]) -> None:
    """Buttons above the chosen card's page: back to all cards, and on to the next one. `choose`: a callback."""
    after = keys[keys.index(chosen) + 1 :]
    with st.container(horizontal=True):
        st.button(f"All {what}s", icon=":material/grid_view:", type="tertiary", on_click=choose, args=(None,))
        if after:
            icon = ":material/arrow_forward:"
            st.button(f"Next {what}", icon=icon, type="tertiary", on_click=choose, args=(after[0],))
