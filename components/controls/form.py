"""The controls of a form, made from its Settings: drawn, kept in the address, and restored from there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.shell import address, session
from components.shell.link import help_text
from models.spec.knob import Knob
from models.spec.query import Suggestion
from models.spec.settings import Settings

Form = TypeVar("Form", bound=Settings)
# Replaces a field's choices (a mapping gives their words), the bounds of its number, or its whole knob.
Legal = Knob | Mapping[Any, object] | Sequence[Any] | range


def draw(
    form_class: type[Form],
    key: str,
    defaults: Form | None = None,
    *,
    variant: str = "",
    is_kept: bool = False,
    places: Sequence[DeltaGenerator] = (),
    only: Collection[str] | None = None,
    disabled: Collection[str] = (),
    legal: Mapping[str, Legal] | None = None,
    **options: Any,
) -> Form:
    """Draws the controls of a form, and returns their values.

    `defaults`: if they are not those of the class. `variant`: tells apart forms of one kind, such as one for each task.
    `is_kept`: whether `keep` was called before. `places`: containers of the controls, in order, instead of the form's
    columns. `only`: the fields to draw, if not all. `disabled`: fields without an effect now. `legal`: choices or
    bounds by field. `options`: arguments of every widget.
    """
    if is_kept:
        form = read(form_class, key, defaults, variant=variant)
    else:
        form = keep(form_class, key, defaults, variant=variant, only=only, legal=legal)
    names = [name for name in form_class.knobs() if only is None or name in only]
    for name, place in zip(names, places or _places(form_class, names), strict=True):
        types, knob = _knob(form_class, name, legal)
        with place:
            draw_control(_widget(key, name, variant), name, types, knob, disabled=name in disabled, **options)
    return form


def keep(
    form_class: type[Form],
    key: str,
    defaults: Form | None = None,
    *,
    variant: str = "",
    only: Collection[str] | None = None,
    legal: Mapping[str, Legal] | None = None,
    near: Suggestion = None,
) -> Form:
    """Keeps the settings of a form in the address, as `draw` does, but draws no controls."""
    for name in form_class.knobs():
        if only is None or name in only:
            types, knob = _knob(form_class, name, legal)
            link = "-".join(filter(None, (knob.link or name, variant)))
            default = getattr(defaults or form_class(), name)
            address.keep(_widget(key, name, variant), link, types, knob, default, near=near)
    return read(form_class, key, defaults, variant=variant)


def read(form_class: type[Form], key: str, defaults: Form | None = None, *, variant: str = "") -> Form:
    """The values of a form's controls, whether or not they are drawn."""
    defaults = defaults or form_class()
    values = {}
    for name, (types, knob) in form_class.knobs().items():
        value = session.widget_value(_widget(key, name, variant), getattr(defaults, name))
        values[name] = _cast(value, types, knob)
    return form_class(**values)


def put(key: str, *, variant: str = "", **values: Any) -> None:
    """Sets controls of a form by field, before they are drawn or in a callback."""
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    address.put({_widget(key, name, variant): value for name, value in listed.items()})


def draw_control(key: str, name: str, types: tuple[type, ...], knob: Knob, **options: Any) -> None:
    """Draws the control of a field: a toggle, choices, a text or a number."""
    arguments: dict[str, Any] = {"key": key, "persist_state": "session", "help": help_text(name, knob)}
    arguments |= ({"width": knob.width} if knob.width else {}) | options
    label = knob.label
    if types == (bool,):
        st.toggle(label, **arguments)
    elif knob.choices is not None:
        _draw_choices(label, types, knob, arguments)
    elif types == (str,):
        st.text_input(label, max_chars=int(knob.high), **arguments)
    else:
        number: Any = int if int in types else float
        low, high, step = number(knob.low), number(knob.high), number(knob.step) or None
        if knob.control == "slider":
            st.slider(label, low, high, step=step, **arguments)
        else:
            arguments |= {"format": "%g"} if float in types else {}
            st.number_input(label, low, high, step=step, **arguments)


def _draw_choices(label: str, types: tuple[type, ...], knob: Knob, arguments: dict[str, Any]) -> None:
    choices = knob.choices or {}
    words = {choice: word if isinstance(word, str) else str(choice) for choice, word in choices.items()}
    arguments = {"format_func": lambda choice: words.get(choice, str(choice))} | arguments
    if knob.multiple:
        st.multiselect(label, list(words), **arguments)
    elif knob.control in ("segments", "pills"):
        draw = st.pills if knob.control == "pills" else st.segmented_control
        draw(label, list(words), required=type(None) not in types, **arguments)
    elif knob.control == "steps":
        st.select_slider(label, list(words), **arguments)
    else:
        st.selectbox(label, list(words), **arguments)


def _cast(value: Any, types: tuple[type, ...], knob: Knob) -> Any:
    """A widget's value as a field's: several choices as a tuple, a number in the field's only type."""
    if knob.multiple:
        return tuple(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return types[0](value) if is_number and len(types) == 1 else value


def _widget(key: str, name: str, variant: str) -> str:
    return "_".join(filter(None, (key, name, variant)))


def _knob(form_class: type[Settings], name: str, legal: Mapping[str, Legal] | None) -> tuple[tuple[type, ...], Knob]:
    """The types and the knob of a field, with its currently legal choices or bounds."""
    types, knob = form_class.knobs()[name]
    replacement = (legal or {}).get(name)
    if replacement is None:
        return types, knob
    if isinstance(replacement, Knob):
        return types, replace(replacement, place=knob.place)
    if knob.choices is None:
        return types, replace(knob, low=min(replacement), high=max(replacement))
    choices = replacement if isinstance(replacement, Mapping) else dict.fromkeys(replacement)
    return types, replace(knob, choices=choices)


def _places(form_class: type[Settings], names: Sequence[str]) -> list[DeltaGenerator]:
    """The containers of these fields' controls, by the form's columns. A row with a toggle is aligned at the bottom."""
    if len(names) == 1:
        return [st.container()]
    if not form_class.columns:
        return [st.container(horizontal=True, vertical_alignment="bottom")] * len(names)
    places: list[DeltaGenerator] = []
    rows = list(form_class.columns)
    while len(places) < len(names):
        # The last entry of `columns` holds for all further rows.
        columns = rows.pop(0) if len(rows) > 1 else rows[0]
        row_names = names[len(places) : len(places) + columns]
        has_toggle = any(form_class.knobs()[name][0] == (bool,) for name in row_names)
        alignment: Any = "bottom" if has_toggle else "top"
        places += st.columns(columns, vertical_alignment=alignment) if columns > 1 else [st.container()]
    return places[: len(names)]
