"""The controls of a form, made from its Settings: drawn, kept in the address, and restored from there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.shell import address, session
from components.shell.link import help_text
from models.content import phrase
from models.spec.knob import Knob
from models.spec.query import Suggestion
from models.spec.settings import Settings

Form = TypeVar("Form", bound=Settings)
# Replaces a field's choices (a mapping gives their words), the bounds of its number, or its whole knob.
Legal = Knob | Mapping[Any, object] | Sequence[Any] | range


def draw(
    kind: type[Form],
    key: str,
    defaults: Form | None = None,
    *,
    variant: str = "",
    bound: bool = False,
    places: Sequence[DeltaGenerator] = (),
    only: Collection[str] | None = None,
    disabled: Collection[str] = (),
    legal: Mapping[str, Legal] | None = None,
    **options: Any,
) -> Form:
    """Draws the controls of a form, and returns their values.

    `defaults`: if they are not those of the class. `variant`: tells apart forms of one kind, such as one for each task.
    `bound`: `keep` was called before. `places`: containers of the controls, in order, instead of the form's columns.
    `only`: the fields to draw, if not all. `disabled`: fields without an effect now. `legal`: choices or bounds by
    field. `options`: arguments of every widget.
    """
    if bound:
        form = read(kind, key, defaults, variant=variant)
    else:
        form = keep(kind, key, defaults, variant=variant, only=only, legal=legal)
    names = [name for name in kind.knobs() if only is None or name in only]
    for name, place in zip(names, places or _places(kind, names), strict=True):
        kinds, knob = _knob(kind, name, legal)
        with place:
            draw_control(_widget(key, name, variant), name, kinds, knob, disabled=name in disabled, **options)
    return form


def keep(
    kind: type[Form],
    key: str,
    defaults: Form | None = None,
    *,
    variant: str = "",
    only: Collection[str] | None = None,
    legal: Mapping[str, Legal] | None = None,
    near: Suggestion = None,
) -> Form:
    """Keeps the settings of a form in the address, as `draw` does, but draws no controls."""
    for name in kind.knobs():
        if only is None or name in only:
            kinds, knob = _knob(kind, name, legal)
            link = "-".join(filter(None, (knob.link or name, variant)))
            default = getattr(defaults or kind(), name)
            address.keep(_widget(key, name, variant), link, kinds, knob, default, near=near)
    return read(kind, key, defaults, variant=variant)


def read(kind: type[Form], key: str, defaults: Form | None = None, *, variant: str = "") -> Form:
    """The values of a form's controls, whether or not they are drawn."""
    defaults = defaults or kind()
    values = {}
    for name, (kinds, knob) in kind.knobs().items():
        value = session.widget_value(_widget(key, name, variant), getattr(defaults, name))
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and len(kinds) == 1
        values[name] = tuple(value) if knob.multiple else kinds[0](value) if is_number else value
    return kind(**values)


def put(key: str, *, variant: str = "", **values: Any) -> None:
    """Sets controls of a form by field, before they are drawn or in a callback."""
    for name, value in values.items():
        session.set_widget(_widget(key, name, variant), list(value) if isinstance(value, tuple) else value)


def draw_control(key: str, name: str, kinds: tuple[type, ...], knob: Knob, **options: Any) -> None:
    """Draws the control of a field: a toggle, choices, a text or a number."""
    arguments: dict[str, Any] = {"key": key, "persist_state": "session", "help": help_text(name, knob)}
    arguments |= ({"width": knob.width} if knob.width else {}) | options
    label = phrase(knob.label)
    if kinds == (bool,):
        st.toggle(label, **arguments)
    elif knob.choices is not None:
        _draw_choices(label, kinds, knob, arguments)
    elif kinds == (str,):
        st.text_input(label, max_chars=int(knob.high), **arguments)
    else:
        number: Any = int if int in kinds else float
        low, high, step = number(knob.low), number(knob.high), number(knob.step) or None
        if knob.control == "slider":
            st.slider(label, low, high, step=step, **arguments)
        else:
            arguments |= {"format": "%g"} if float in kinds else {}
            st.number_input(label, low, high, step=step, **arguments)


def _draw_choices(label: str, kinds: tuple[type, ...], knob: Knob, arguments: dict[str, Any]) -> None:
    choices = knob.choices or {}
    words = {choice: word if isinstance(word, str) else str(choice) for choice, word in choices.items()}
    arguments = {"format_func": lambda choice: words.get(choice, str(choice))} | arguments
    if knob.multiple:
        st.multiselect(label, list(words), **arguments)
    elif knob.control == "segments":
        st.segmented_control(label, list(words), required=type(None) not in kinds, **arguments)
    elif knob.control == "steps":
        st.select_slider(label, list(words), **arguments)
    else:
        st.selectbox(label, list(words), **arguments)


def _widget(key: str, name: str, variant: str) -> str:
    return "_".join(filter(None, (key, name, variant)))


def _knob(kind: type[Settings], name: str, legal: Mapping[str, Legal] | None) -> tuple[tuple[type, ...], Knob]:
    """The types and the knob of a field, with its currently legal choices or bounds."""
    kinds, knob = kind.knobs()[name]
    replacement = (legal or {}).get(name)
    if replacement is None:
        return kinds, knob
    if isinstance(replacement, Knob):
        return kinds, replace(replacement, place=knob.place)
    if knob.choices is None:
        return kinds, replace(knob, low=min(replacement), high=max(replacement))
    choices = replacement if isinstance(replacement, Mapping) else dict.fromkeys(replacement)
    return kinds, replace(knob, choices=choices)


def _places(kind: type[Settings], names: Sequence[str]) -> list[DeltaGenerator]:
    """The containers of these fields' controls, by the form's columns. A row with a toggle is aligned at the bottom."""
    if len(names) == 1:
        return [st.container()]
    if not kind.columns:
        return [st.container(horizontal=True, vertical_alignment="bottom")] * len(names)
    places: list[DeltaGenerator] = []
    rows = list(kind.columns)
    while len(places) < len(names):
        columns = rows.pop(0) if len(rows) > 1 else rows[0]
        row_names = names[len(places) : len(places) + columns]
        has_toggle = any(kind.knobs()[name][0] == (bool,) for name in row_names)
        alignment: Any = "bottom" if has_toggle else "top"
        places += st.columns(columns, vertical_alignment=alignment) if columns > 1 else [st.container()]
    return places[: len(names)]
