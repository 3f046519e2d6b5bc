"""The controls of a form, made from its Settings: drawn, kept in the address, and taken from there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.shell import address, session
from components.shell.link import help_text
from models.content import phrase
from models.spec.knob import Knob
from models.spec.query import Near
from models.spec.settings import Settings

Form = TypeVar("Form", bound=Settings)
Legal = Knob | Mapping[Any, object] | Sequence[Any] | range  # what replaces a field's choices, bounds or whole knob


def draw(
    kind: type[Form],
    key: str,
    usual: Form | None = None,
    *,
    of: str = "",
    kept: bool = False,
    places: Sequence[DeltaGenerator] = (),
    only: Collection[str] | None = None,
    idle: Collection[str] = (),
    legal: Mapping[str, Legal] | None = None,
    **more: Any,
) -> Form:
    """Draws the controls of a form, and returns what they hold.

    `usual`: the defaults, where they depend on other things; so does what is `legal`, by field: choices (a mapping
    gives their words), the bounds of a number, or another knob. `places`: where the controls stand, in order, if not in
    the columns of the form; `of`: which of several forms of this kind it is, as one for each task; `only`: the fields
    to draw, if not all; `kept`: `keep` was called before; `idle`: those without an effect now; `more`: arguments of
    every widget.
    """
    form = held(kind, key, usual, of=of) if kept else keep(kind, key, usual, of=of, only=only, legal=legal)
    names = [name for name in kind.knobs() if only is None or name in only]
    for name, place in zip(names, places or _places(kind, names), strict=True):
        kinds, knob = _knob(kind, name, legal)
        with place:
            control(_widget(key, name, of), name, kinds, knob, disabled=name in idle, **more)
    return form


def keep(
    kind: type[Form],
    key: str,
    usual: Form | None = None,
    *,
    of: str = "",
    only: Collection[str] | None = None,
    legal: Mapping[str, Legal] | None = None,
    near: Near = None,
) -> Form:
    """As `draw`, but draws no controls: the settings are kept in the address and taken from there."""
    for name in kind.knobs():
        if only is None or name in only:
            kinds, knob = _knob(kind, name, legal)
            link = "-".join(filter(None, (knob.link or name, of)))
            address.keep(_widget(key, name, of), link, kinds, knob, getattr(usual or kind(), name), near=near)
    return held(kind, key, usual, of=of)


def held(kind: type[Form], key: str, usual: Form | None = None, *, of: str = "") -> Form:
    """What the controls of a form hold, drawn or not."""
    usual = usual or kind()
    found = {}
    for name, (kinds, knob) in kind.knobs().items():
        value = session.widget_value(_widget(key, name, of), getattr(usual, name))
        number = isinstance(value, int | float) and not isinstance(value, bool) and len(kinds) == 1
        found[name] = tuple(value) if knob.many else kinds[0](value) if number else value
    return kind(**found)


def put(key: str, *, of: str = "", **values: Any) -> None:
    """Sets controls of a form by field, before they are drawn or in a callback."""
    for name, value in values.items():
        session.set_widget(_widget(key, name, of), list(value) if isinstance(value, tuple) else value)


def control(key: str, name: str, kinds: tuple[type, ...], knob: Knob, **more: Any) -> None:
    """Draws the control of a field: a toggle, choices, a text or a number."""
    fixed: dict[str, Any] = {"key": key, "persist_state": "session", "help": help_text(name, knob)}
    fixed |= ({"width": knob.width} if knob.width else {}) | more
    label = phrase(knob.label)
    number: Any = int if int in kinds else float
    low, high, step = number(knob.low), number(knob.high), number(knob.step) or None
    if kinds == (bool,):
        st.toggle(label, **fixed)
    elif knob.choices is not None:
        words = {one: said if isinstance(said, str) else str(one) for one, said in knob.choices.items()}
        options, fixed = list(words), {"format_func": lambda one: words.get(one, str(one))} | fixed
        if knob.many:
            st.multiselect(label, options, **fixed)
        elif knob.control == "segments":
            st.segmented_control(label, options, required=type(None) not in kinds, **fixed)
        elif knob.control == "steps":
            st.select_slider(label, options, **fixed)
        else:
            st.selectbox(label, options, **fixed)
    elif kinds == (str,):
        st.text_input(label, max_chars=int(knob.high), **fixed)
    elif knob.control == "slider":
        st.slider(label, low, high, step=step, **fixed)
    else:
        fixed |= {"format": "%g"} if float in kinds else {}
        st.number_input(label, low, high, step=step, **fixed)


def _widget(key: str, name: str, of: str) -> str:
    return "_".join(filter(None, (key, name, of)))


def _knob(kind: type[Settings], name: str, legal: Mapping[str, Legal] | None) -> tuple[tuple[type, ...], Knob]:
    """The types and the knob of a field, with what is legal now."""
    kinds, knob = kind.knobs()[name]
    now = (legal or {}).get(name)
    if now is None:
        return kinds, knob
    if isinstance(now, Knob):
        return kinds, replace(now, place=knob.place)
    if knob.choices is None:
        return kinds, replace(knob, low=min(now), high=max(now))
    return kinds, replace(knob, choices=now if isinstance(now, Mapping) else dict.fromkeys(now))


def _places(kind: type[Settings], names: Sequence[str]) -> list[DeltaGenerator]:
    """Where the controls of these fields stand, by the form's columns; a toggle stands on the line of its row."""
    if len(names) == 1:
        return [st.container()]
    if not kind.columns:
        return [st.container(horizontal=True, vertical_alignment="bottom")] * len(names)
    places: list[DeltaGenerator] = []
    rows = list(kind.columns)
    while len(places) < len(names):
        across = rows.pop(0) if len(rows) > 1 else rows[0]
        toggles = any(kind.knobs()[name][0] == (bool,) for name in names[len(places) :][:across])
        places += (
            st.columns(across, vertical_alignment="bottom" if toggles else "top") if across > 1 else [st.container()]
        )
    return places[: len(names)]
