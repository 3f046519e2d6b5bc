"""Everything that a visitor's session keeps, by name and type; no other file names a key of it.

Widgets keep their values under their own keys, which their pages choose: `widget_value` and `set_widget`.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import streamlit as st

from models.spec import RunConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from components.instruments.panel import Measured
    from components.labs.attention.head_words import Tables
    from components.labs.autoregression.text import Written
    from components.lessons.progress import Done
    from components.stage.profiles import Profile
    from components.stage.scenes import Choice
    from components.stage.view import View
    from models.labs.normalization import Running
    from models.maps.cells import Cell
    from models.maps.spec import MapSpec
    from models.trace import Trace

Value = TypeVar("Value")


@dataclass(frozen=True)
class Key(Generic[Value]):
    """A key of the session and its default. A `{}` in its name is filled in by `of`."""

    name: str
    default: Value

    def of(self, part: object) -> Key[Value]:
        """The key of one of several, by its name."""
        return replace(self, name=self.name.format(part))

    @property
    def there(self) -> bool:
        """Whether it has a value."""
        return self.name in st.session_state

    def get(self) -> Value:
        """Its value, or the default; not to be changed in place."""
        found: Value = st.session_state.get(self.name, self.default)
        return found

    def mutable(self) -> Value:
        """Its value, to be changed in place; at first a copy of the default."""
        found: Value = st.session_state.setdefault(self.name, copy(self.default))
        return found

    def put(self, value: Value) -> None:
        """Sets its value."""
        st.session_state[self.name] = value

    def pop(self) -> Value:
        """Removes and returns its value, or the default."""
        found: Value = st.session_state.pop(self.name, self.default)
        return found


def widget_value(widget: str, default: Any = None) -> Any:
    """The value of a widget, by its key; the default if it has not been drawn."""
    return st.session_state.get(widget, default)


field = widget_value  # the widget of a configuration's field has the field's name as its key


def drawn(widget: str) -> bool:
    """Whether a widget has been drawn or set."""
    return widget in st.session_state


def begin(widget: str, value: Any) -> None:
    """Sets a widget that has not been drawn yet."""
    st.session_state.setdefault(widget, value)


def set_widget(widget: str, value: Any) -> None:
    """Sets a widget, before it is drawn or in a callback."""
    st.session_state[widget] = value


# --- the address, see `address` ---

HERE: Key[str] = Key("address_here", "")  # the current page
# By key, the part of the address that the current page has adopted or written.
TAKEN: Key[dict[str, str | None]] = Key("address_taken", {})
# By page, its last address; the current page is last.
LEFT: Key[dict[str, dict[str, str]]] = Key("address_left", {})
RESTORED: Key[bool] = Key("address_restored", False)  # whether this run's address was restored
ECHOES: Key[list[dict[str, str]]] = Key("address_echoes", [])  # older addresses of the current page
STAGED: Key[dict[str, str | None]] = Key("address_staged", {})  # changes to be written; None removes a key
# By key of the address, the widget that is kept in it, its default, and the function that writes its value.
KEPT: Key[dict[str, tuple[str, Any, Callable[[Any], str]]]] = Key("address_kept", {})
# By key of the address, the widget and its last default on the current page.
DEFAULTS: Key[dict[str, tuple[str, Any]]] = Key("address_defaults", {})
# By widget, its older values, the value that was put, and the address at that time: the browser may not have heard.
PUT: Key[dict[str, tuple[list[Any], Any, dict[str, str]]]] = Key("address_put", {})
UNTOLD: Key[bool] = Key("address_untold", False)  # whether the run that put a value has not ended yet
# By key of the address, the message about an illegal value, and the value that was adopted instead.
SAID: Key[dict[str, tuple[str, Any]]] = Key("address_said", {})

# --- around every page ---

SETTINGS: Key[str] = Key("settings_asked", "")  # the last request to open the drawer at the settings
HIDDEN: Key[frozenset[str]] = Key("hidden", frozenset())  # fields and parts that the link hides
# Whether a part of a page waits, and whether the trainer had started.
WAITS: Key[tuple[bool, bool]] = Key("{}_waits", (False, True))
LINK_NOTES: Key[list[str]] = Key("link_notes", [])  # on what was changed in the link's configuration
LINK_RERUN: Key[bool] = Key("link_rerun", False)  # whether the link's run is to be computed again and compared
LAST_GOOD: Key[RunConfig] = Key("last_good", RunConfig())  # the last configuration that could be shown
COMPARE_BEGUN: Key[str] = Key("compare_begun", "")  # the last request to play the comparison
CLASS_CODE: Key[str] = Key("class_code", "")
CLASS_MEMBER: Key[str] = Key("class_member", "")  # this visitor on the board
CLASS_TOLD: Key[set[tuple[str, str]]] = Key("class_told", set())  # class and lesson of each guess told to the board

# --- editable tables, by their key ---

TABLE_VERSION: Key[int] = Key("{}_version", -1)
TABLE_BASE: Key[np.ndarray] = Key("{}_base", np.empty((0, 0)))  # the editor's initial values
TABLE_GOOD: Key[np.ndarray] = Key("{}_good", np.empty((0, 0)))  # the last good values
TABLE_DEFAULT: Key[np.ndarray] = Key("{}_default", np.empty((0, 0)))  # those of the chosen example
TABLE_NAMES: Key[tuple[Any, Any]] = Key("{}_names", ((), ()))  # of rows and columns
TABLE_NOT_TAKEN: Key[str] = Key("{}_not_taken", "")  # what was wrong with the table of the address

# --- instruments: by panel and question, as `InstrumentPanel.key` joins them ---

INSTRUMENT: Key[str | None] = Key("instrument", None)  # the open one
MEASURED: Key[Measured[Any] | None] = Key("{}", None)
MEASURED_ASKED: Key[tuple[RunConfig, dict[str, Any], int] | None] = Key("{}_asked", None)
MEASURED_WANTED: Key[tuple[RunConfig, int, dict[str, Any]] | None] = Key("{}_wanted", None)
LENS_WRITTEN: Key[tuple[str, list[dict[str, Any]]]] = Key(
    "{}", ("", [])
)  # a text that was continued, and its new tokens

# --- pages ---

START_WATCHED: Key[bool] = Key("start_watched", False)
STORY_SCENE: Key[int] = Key("story_scene", 1)
STORY_OWN: Key[Choice | None] = Key("story_own", None)  # the reader's own net

GHOST: Key[Profile | None] = Key("ghost", None)  # before the last change
PINNED: Key[Profile | None] = Key("pinned", None)
VIEW: Key[View | None] = Key("view", None)
STARTED: Key[str] = Key("playground_started", "")  # the last request to play the run
STOP_LOSS: Key[float] = Key("playground_stop_loss", 0.0)
FIT: Key[int] = Key("playground_fit", 0)  # how often the axes were fitted
ROWS: Key[tuple[RunConfig | None, bool]] = Key("playground_rows", (None, False))  # a run, and whether it had rows
SWITCHED: Key[bool] = Key("playground_switched", False)
PASTED: Key[str] = Key("pasted_configuration", "")
PASTED_REFUSED: Key[str] = Key("pasted_refused", "")

COLUMNS: Key[list[RunConfig]] = Key("compare_columns", [])
COLUMN_DRAWN: Key[tuple[str, RunConfig] | None] = Key("compare_drawn", None)  # the column in the controls
COMPARE_GIVEN: Key[list[RunConfig]] = Key("compare_given", [])  # the columns that the page itself chose last
COMPARE_NOTES: Key[list[str]] = Key("compare_notes", [])

ANATOMY_VIEW: Key[View | None] = Key("anatomy_view", None)

LESSONS_DONE: Key[dict[str, Done]] = Key("lessons_done", {})
LESSON_RESET: Key[str] = Key("lesson_{}_reset", "")
ATTEMPT: Key[RunConfig] = Key("{}", RunConfig())  # by the name of a lesson's attempt
ATTEMPT_PROBLEM: Key[str] = Key("{}_problem", "")
ATTEMPT_WATCHED: Key[RunConfig | None] = Key("{}_watched", None)

ERROR_RUNNING: Key[bool] = Key("error_{}_running", False)
ERRORS_GUESSED: Key[dict[str, bool]] = Key("errors_guessed_right", {})  # by card, whether the guess was right

MAP_OWN: Key[MapSpec | None] = Key("map_own", None)  # the last legal specification
MAP_FILLED: Key[bool] = Key("map_filled", False)  # whether the controls hold it
MAP_MORE: Key[dict[str, Any]] = Key("map_more", {})  # fields of its base without a control
MAP_REFUSED: Key[str] = Key("map_refused", "")  # what was wrong with the specification in the address
MAP_WANTED: Key[str] = Key("map_wanted", "")  # the digest of the map that is computed
MAPS_BEGUN: Key[set[str]] = Key("maps_begun", set())  # in which this visitor has computed
MAP_BASKET: Key[list[Cell]] = Key("map_basket", [])  # cells to compare

TEACHER_CLASS: Key[tuple[str, str]] = Key("teacher_class", ("", ""))  # the class that is open, and its key
TEACHER_REFUSED: Key[str] = Key("teacher_refused", "")

NET_SEEN: Key[tuple[RunConfig, Sequence[Trace]] | None] = Key("gradients_net_seen", None)
# By part of a lab, the net and the arguments of the long work that a button started.
LONG_BEGUN: Key[tuple[RunConfig, dict[str, Any]] | None] = Key("{}_begun", None)
HEAD_FITTING: Key[Tables | None] = Key("attention_head_fitting", None)  # the last tables of matching shapes
WRITTEN: Key[Written | None] = Key("autoregression_written", None)
RUNNING: Key[Running | None] = Key("normalization_running", None)  # batch norm's memory
LEARNING_REFUSED: Key[str] = Key("normalization_refused", "")
