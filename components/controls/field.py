"""The widget of a configuration's field: label, help, bounds and choices are those of its knob."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from components.controls import form
from components.shell import session
from components.shell.link import field_help
from models.content import phrase
from models.spec import knobs
from models.spec.settings import of_run

MAX_SCALE = 40  # characters of a scale that is typed in


def widget(
    name: str, value: Any, *, key: str, control: str = "", step: float = 0.001, before: Sequence[Any] = (), **more: Any
) -> None:
    """Draws the widget of a field under a key; `value`: the field's value; `step`: of numbers that are not whole.

    `before`: words or numbers that may be chosen too, listed before the field's own choices.
    """
    kinds, knob = knobs()[name]
    if knob.rules is not None:
        plain: list[float | str] = [*before, 0.5, 1.0, 2.0, *knob.rules]
        options = plain if value in plain else [value, *plain]
        fixed: dict[str, Any] = {"key": key, "help": field_help(name)} | more
        st.selectbox(phrase(knob.label), options, accept_new_options=True, **fixed)
        return
    choices = None if knob.choices is None else dict.fromkeys([*before, *knob.choices])
    if knob.stops:
        choices, control = dict.fromkeys(sorted({*knob.stops, int(value)})), knob.control
    step = knob.step if int in kinds else knob.step or step
    form.control(key, name, kinds, of_run(name, choices=choices, step=step, control=control), **more)


def field(
    name: str, value: Any, *, key: str, change: Callable[[str, str, Any], None], before: Sequence[Any] = ()
) -> None:
    """Draws the widget of a field of an attempt; `change` is called with key, field and value when it is moved."""
    session.set_widget(key, value)

    def moved() -> None:
        change(key, name, parsed(name, session.widget_value(key)))

    scale = knobs()[name][1].rules is not None
    widget(name, value, key=key, step=0.01, before=before if scale else (), on_change=moved)


def parsed(name: str, value: Any) -> Any:
    """The value of a field's widget; a scale that was typed in becomes a number if it is one."""
    kinds, _ = knobs()[name]
    if isinstance(value, str) and float in kinds:
        try:
            return float(value[:MAX_SCALE])
        except ValueError:
            return value[:MAX_SCALE]
    return int(value) if kinds == (int,) and isinstance(value, float) and value.is_integer() else value
