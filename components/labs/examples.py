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

    choice = url_param(state, first or next(iter(examples)), name=name, among=examples)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = str(st.selectbox("Examples", list(examples), format_func=shown, on_change=put, width=416, **choice))
        if again:
            st.button("Load example", key=f"{key}_again", on_click=put)
    return chosen


def numbered(word: str, count: int) -> list[str]:
    """token 1, token 2, ..."""
    return [f"{word} {at + 1}" for at in range(count)]
