"""Worked examples of a lab, and the numbered names of their tokens and features."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

import streamlit as st

from components.controls import form
from components.shell import session
from models.spec.knob import Knob
from models.spec.settings import Settings

Example = TypeVar("Example")


@dataclass(frozen=True)
class Examples(Settings):
    preset: Annotated[str, Knob("Examples", choices={}, link="example", width=416)] = ""


def choose(
    key: str,
    examples: Mapping[str, Example],
    load: Callable[[Example], None],
    *,
    first: str = "",
    name: str = "example",
    again: bool = False,
    words: Mapping[str, str] | None = None,
) -> str:
    """A list of examples; choosing one hands it to `load`, as does the button `again`. Returns the chosen name.

    `name`: in the address; `words`: what stands for a name that holds other words in addresses.
    """

    def put() -> None:
        load(examples[session.widget_value(f"{key}_preset")])

    knob = Knob("Examples", choices=dict.fromkeys(examples) | dict(words or {}), link=name, width=416)
    usual = Examples(first or next(iter(examples)))
    line = st.container(horizontal=True, vertical_alignment="bottom")
    chosen = form.draw(Examples, key, usual, places=[line], legal={"preset": knob}, on_change=put).preset
    if again:
        line.button("Reset to the example", key=f"{key}_again", on_click=put)
    return chosen


def numbered(word: str, count: int) -> list[str]:
    """token 1, token 2, ..."""
    return [f"{word} {at + 1}" for at in range(count)]
