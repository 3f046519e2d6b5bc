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


def choose_example(
    key: str,
    examples: Mapping[str, Example],
    load: Callable[[Example], None],
    *,
    first: str = "",
    link: str = "example",
    with_reset: bool = False,
    labels: Mapping[str, str] | None = None,
) -> str:
    """Draws a list of examples, and a reset button on request; both pass the chosen one to `load`. Returns its name.

    `first`: the default, if not the first of `examples`. `link`: the URL parameter. `labels`: names that visitors see,
    where they differ from those in addresses.
    """

    def load_chosen() -> None:
        load(examples[session.widget_value(f"{key}_preset")])

    knob = Knob("Examples", choices=dict.fromkeys(examples) | dict(labels or {}), link=link, width=416)
    defaults = Examples(first or next(iter(examples)))
    line = st.container(horizontal=True, vertical_alignment="bottom")
    name = form.draw(Examples, key, defaults, places=[line], legal={"preset": knob}, on_change=load_chosen).preset
    if with_reset:
        line.button("Reset to the example", key=f"{key}_again", on_click=load_chosen)
    return name


def numbered_names(word: str, count: int) -> list[str]:
    """token 1, token 2, ..."""
    return [f"{word} {i + 1}" for i in range(count)]


def numbered_choices(word: str, count: int) -> dict[int, str]:
    """Choices 0, 1, ... of a knob, which visitors see as token 1, token 2, ..."""
    return dict(enumerate(numbered_names(word, count)))
