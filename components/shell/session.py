"""The session of a visitor: typed keys, each owned by one module, and the values of widgets.

Widgets store their values under keys that their pages choose; `widget_value` and `set_widget` access these.
"""

from __future__ import annotations

import sys
from copy import copy
from typing import Any, Generic, TypeVar

import streamlit as st

Value = TypeVar("Value")

_owners: dict[str, str] = {}  # by name of a key, the module that defines it


class Key(Generic[Value]):
    """A key of the session and its default. `of` fills a `{}` in its name.

    ValueError if another module has a key of this name.
    """

    def __init__(self, name: str, default: Value) -> None:
        owner = sys._getframe(1).f_globals["__name__"]
        if _owners.setdefault(name, owner) != owner:  # its own module may be loaded again
            raise ValueError(f"{owner} makes a key {name!r} of the session, which {_owners[name]} has")
        self.name, self.default = name, default

    def of(self, part: object) -> Key[Value]:
        """The key for one part, whose name has the part in place of `{}`."""
        key = copy(self)
        key.name = self.name.format(part)
        return key

    @property
    def is_set(self) -> bool:
        return self.name in st.session_state

    def get(self) -> Value:
        """The value, or the default; do not change it in place."""
        value: Value = st.session_state.get(self.name, self.default)
        return value

    def mutable(self) -> Value:
        """The value, to be changed in place; at first a copy of the default."""
        value: Value = st.session_state.setdefault(self.name, copy(self.default))
        return value

    def put(self, value: Value) -> None:
        st.session_state[self.name] = value

    def pop(self) -> Value:
        """Removes and returns the value, or the default."""
        value: Value = st.session_state.pop(self.name, self.default)
        return value


def widget_value(widget: str, default: Any = None) -> Any:
    """The value of a widget by its key; the default if the widget has neither been drawn nor set."""
    return st.session_state.get(widget, default)


field = widget_value  # for a configuration's field, whose widget has the field's name as its key


def has_value(widget: str) -> bool:
    return widget in st.session_state


def set_initial(widget: str, value: Any) -> None:
    st.session_state.setdefault(widget, value)


def set_widget(widget: str, value: Any) -> None:
    """Sets a widget, before it is drawn or in a callback.

    One that is set once, before its first drawing, has `persist_state="session"`: Streamlit tells a browser such a
    value in one run alone, which is lost if the page runs again before the browser has drawn the widget.
    """
    st.session_state[widget] = value
