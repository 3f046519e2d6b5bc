"""The session of a visitor: keys, each owned by the room that keeps something under it, and widgets.

Widgets keep their values under their own keys, which their pages choose: `widget_value` and `set_widget`.
"""

from __future__ import annotations

import sys
from copy import copy
from typing import Any, Generic, TypeVar

import streamlit as st

Value = TypeVar("Value")

_owners: dict[str, str] = {}  # by name of a key, the module that made it


class Key(Generic[Value]):
    """A key of the session and its default. A `{}` in its name is filled in by `of`.

    ValueError if another module has a key of this name.
    """

    def __init__(self, name: str, default: Value) -> None:
        owner = sys._getframe(1).f_globals["__name__"]
        if _owners.setdefault(name, owner) != owner:  # its own module may be loaded again
            raise ValueError(f"{owner} makes a key {name!r} of the session, which {_owners[name]} has")
        self.name, self.default = name, default

    def of(self, part: object) -> Key[Value]:
        """The key of one of several, by its name."""
        filled = copy(self)
        filled.name = self.name.format(part)
        return filled

    @property
    def there(self) -> bool:
        """Whether it has a value."""
        return self.name in st.session_state

    def get(self) -> Value:
        """Its value, or the default; not to be changed in place."""
        value: Value = st.session_state.get(self.name, self.default)
        return value

    def mutable(self) -> Value:
        """Its value, to be changed in place; at first a copy of the default."""
        value: Value = st.session_state.setdefault(self.name, copy(self.default))
        return value

    def put(self, value: Value) -> None:
        """Sets its value."""
        st.session_state[self.name] = value

    def pop(self) -> Value:
        """Removes and returns its value, or the default."""
        value: Value = st.session_state.pop(self.name, self.default)
        return value


def widget_value(widget: str, default: Any = None) -> Any:
    """The value of a widget, by its key; the default if it has not been drawn."""
    return st.session_state.get(widget, default)


field = widget_value  # the widget of a configuration's field has the field's name as its key


def has_value(widget: str) -> bool:
    """Whether a widget has been drawn or set."""
    return widget in st.session_state


def begin(widget: str, value: Any) -> None:
    """Sets a widget that has not been drawn yet."""
    st.session_state.setdefault(widget, value)


def set_widget(widget: str, value: Any) -> None:
    """Sets a widget, before it is drawn or in a callback."""
    st.session_state[widget] = value
