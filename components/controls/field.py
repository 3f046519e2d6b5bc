"""A control for one field of an attempt: as on the playground, under a key of its own, with the value handed in."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from components.shell import session
from components.shell.link import help_of
from models.spec import knobs


def field(name: str, value: Any, *, key: str, change: Callable[[str, str, Any], None]) -> None:
    """Draws the control of a field; `change` is called with key, field and the new value when it is moved."""
    kinds, knob = knobs()[name]
    session.hold(key, value)

    def moved() -> None:
        change(key, name, _number(session.held(key), kinds))

    fixed: dict[str, Any] = {"key": key, "help": help_of(name), "on_change": moved}
    if kinds == (bool,):
        st.toggle(knob.label, **fixed)
    elif knob.choices is not None:
        st.selectbox(knob.label, list(knob.choices), **fixed)
    elif knob.rules is not None:
        plain: list[float | str] = [0.5, 1.0, 2.0, *knob.rules]
        st.selectbox(knob.label, plain if value in plain else [value, *plain], accept_new_options=True, **fixed)
    elif kinds == (int,):
        st.number_input(knob.label, int(knob.low), int(knob.high), step=int(knob.step), **fixed)
    else:
        st.number_input(knob.label, float(knob.low), float(knob.high), step=0.01, format="%g", **fixed)


def _number(value: Any, kinds: tuple[type, ...]) -> Any:
    """A scale that was typed in is a number where it can be one."""
    if isinstance(value, str) and float in kinds:
        try:
            return float(value)
        except ValueError:
            return value
    return value
