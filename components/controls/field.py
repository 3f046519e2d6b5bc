"""The widget of a configuration's field, with label, help, bounds and choices from its knob."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from components.controls import form
from components.shell import session
from components.shell.link import field_help
from models.content import phrase
from models.spec import knobs
from models.spec.settings import run_knob

MAX_SCALE_LENGTH = 40  # characters of a typed scale


def draw_widget(
    name: str,
    value: Any,
    *,
    key: str,
    control: str = "",
    step: float = 0.001,
    before: Sequence[Any] = (),
    **options: Any,
) -> None:
    """Draws the widget of a field with the field's value; `step`: of numbers that are not whole.

    `before`: further choices, listed before the field's own. `options`: arguments of the widget.
    """
    kinds, knob = knobs()[name]
    if knob.rules is not None:
        suggestions: list[float | str] = [*before, 0.5, 1.0, 2.0, *knob.rules]
        choices = suggestions if value in suggestions else [value, *suggestions]
        arguments: dict[str, Any] = {"key": key, "help": field_help(name)} | options
        st.selectbox(phrase(knob.label), choices, accept_new_options=True, **arguments)
        return
    legal = None if knob.choices is None else dict.fromkeys([*before, *knob.choices])
    if knob.stops:
        legal, control = dict.fromkeys(sorted({*knob.stops, int(value)})), knob.control
    step = knob.step if int in kinds else knob.step or step
    form.draw_control(key, name, kinds, run_knob(name, choices=legal, step=step, control=control), **options)


def draw_field(
    name: str, value: Any, *, key: str, change: Callable[[str, str, Any], None], before: Sequence[Any] = ()
) -> None:
    """Draws the widget of a field of an attempt; `change`, a callback, gets key, field and new value."""
    session.set_widget(key, value)

    def on_change() -> None:
        change(key, name, parse_value(name, session.widget_value(key)))

    is_scale = knobs()[name][1].rules is not None
    draw_widget(name, value, key=key, step=0.01, before=before if is_scale else (), on_change=on_change)


def parse_value(name: str, value: Any) -> Any:
    """The field's value from its widget's; a typed scale becomes a number if it is one."""
    kinds, _ = knobs()[name]
    if isinstance(value, str) and float in kinds:
        try:
            return float(value[:MAX_SCALE_LENGTH])
        except ValueError:
            return value[:MAX_SCALE_LENGTH]
    return int(value) if kinds == (int,) and isinstance(value, float) and value.is_integer() else value
