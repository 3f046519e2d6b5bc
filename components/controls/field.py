"""The widget of a configuration's field, with label, help, bounds and choices from its knob."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from components.controls import form
from components.shell import session
from components.shell.link import field_help
from models.spec import RunConfig, knobs
from models.spec.settings import run_knob

MAX_SCALE_LENGTH = 40  # characters of a typed scale


def draw_widget(
    name: str,
    value: Any,
    *,
    key: str,
    control: str = "",
    step: float = 0.001,
    extra_choices: Sequence[Any] = (),
    **options: Any,
) -> None:
    """Draws the widget of a field with the field's value; `step`: between numbers that are not whole.

    `extra_choices`: listed before the field's own choices. `options`: arguments of the widget.
    """
    types, knob = knobs()[name]
    if knob.rules is not None:
        suggestions: list[float | str] = [*extra_choices, 0.5, 1.0, 2.0, *knob.rules]
        choices = suggestions if value in suggestions else [value, *suggestions]
        arguments: dict[str, Any] = {"key": key, "help": field_help(name)} | options
        st.selectbox(knob.label, choices, accept_new_options=True, **arguments)
        return
    legal = None
    if knob.choices is not None:
        legal = dict.fromkeys([*extra_choices, *knob.choices])
    if knob.stops:
        legal = dict.fromkeys(sorted({*knob.stops, int(value)}))
        control = knob.control
    if knob.step or int in types:
        step = knob.step
    form.draw_control(key, name, types, run_knob(name, choices=legal, step=step, control=control), **options)


def draw_field(
    name: str, value: Any, *, key: str, change: Callable[[str, str, Any], None], extra_choices: Sequence[Any] = ()
) -> None:
    """Draws the widget of a field of an attempt; a change calls `change` with key, field and new value."""
    session.set_widget(key, value)

    def on_change() -> None:
        change(key, name, parse_value(name, session.widget_value(key)))

    is_scale = knobs()[name][1].rules is not None
    draw_widget(name, value, key=key, step=0.01, extra_choices=extra_choices if is_scale else (), on_change=on_change)


def parse_value(name: str, value: Any) -> Any:
    """The field's value from its widget's: a typed scale is a number if it is one, no choice the field's default."""
    types, _ = knobs()[name]
    if value is None and type(None) not in types:  # a browser that is not ours can send it
        return getattr(RunConfig, name)
    if isinstance(value, str) and float in types:
        try:
            return float(value[:MAX_SCALE_LENGTH])
        except ValueError:
            return value[:MAX_SCALE_LENGTH]
    if types == (int,) and isinstance(value, float) and value.is_integer():
        return int(value)
    return value
