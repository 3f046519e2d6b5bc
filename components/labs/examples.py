"""Worked examples of a lab, and the numbered names of their tokens and features."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import streamlit as st

from components.shell import session
from components.shell.address import url_param

Example = TypeVar("Example")


def choose(
    key: str,
    examples: Mapping[str, Example],
    load: Callable[[Example], None],
    *,
    first: str = "",
    name: str = "example",
    again: bool = False,
    shown: Callable[[str], str] = str,
) -> str:
    """A list of examples; choosing one hands it to `load`, as does the button `again`. Returns the chosen name."""
    state = f"{key}_preset"

    def put() -> None:
        load(examples[session.widget_value(state)])

    place, beside = st.columns([3, 1], vertical_alignment="bottom") if again else (st.container(), None)
    choice = url_param(state, first or next(iter(examples)), name=name, among=examples)
    chosen = str(place.selectbox("Examples", list(examples), format_func=shown, on_change=put, **choice))
    if beside is not None:
        beside.button("Load example", key=f"{key}_again", on_click=put, width="stretch")
    return chosen


def numbered(word: str, count: int) -> list[str]:
    """token 1, token 2, ..."""
    return [f"{word} {at + 1}" for at in range(count)]
