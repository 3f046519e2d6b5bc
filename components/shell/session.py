"""Everything that a visitor's session keeps, by name and type, in one place; no other file names a key of it.

What a widget holds is kept under the widget's own key, which its page chooses: `held` and `hold`.
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
    """A place in the session, and what is there as long as nothing
    was put. A `{}` in a name stands for what `of` is given.
    """

    name: str
    default: Value

    def of(self, part: object) -> Key[Value]:
        """The place of one of several, by its name."""
        return replace(self, name=self.name.format(part))

    @property
    def there(self) -> bool:
        """Whether something was put."""
        return self.name in st.session_state

    def get(self) -> Value:
        """What is there; not to be changed in place."""
        found: Value = st.session_state.get(self.name, self.default)
        return found

    def own(self) -> Value:
        """What is there, to be changed in place: a copy of the default where nothing was put."""
        found: Value = st.session_state.setdefault(self.name, copy(self.default))
        return found

    def put(self, value: Value) -> None:
        """Puts something there."""
        st.session_state[self.name] = value

    def take(self) -> Value:
        """What is there, which is gone then."""
        found: Value = st.session_state.pop(self.name, self.default)
        return found


def held(widget: str, default: Any = None) -> Any:
    """What a widget holds, by its key; the default where it has not been drawn."""
    return st.session_state.get(widget, default)


def drawn(widget: str) -> bool:
    """Whether a widget has been drawn or set."""
    return widget in st.session_state


def field(name: str, default: Any = None) -> Any:
    """What the control of a configuration's field holds: its key is the field's name."""
    return st.session_state.get(name, default)


def begin(widget: str, value: Any) -> None:
    """Sets a widget that has not been drawn yet."""
    st.session_state.setdefault(widget, value)


def hold(widget: str, value: Any) -> None:
    """Sets a widget, before it is drawn or in a callback."""
    st.session_state[widget] = value


# --- the address, see `address` ---

HERE: Key[str] = Key("address_here", "")  # which page is shown
# What of the address the page that is shown has taken over or written itself, by key.
TAKEN: Key[dict[str, str | None]] = Key("address_taken", {})
# By page, the address it has or was left with; the page that was shown last stands last.
LEFT: Key[dict[str, dict[str, str]]] = Key("address_left", {})
RESTORED: Key[bool] = Key("address_restored", False)  # whether the visit has had the address of this run before
ECHOES: Key[list[dict[str, str]]] = Key("address_echoes", [])  # addresses that the page that is shown had before
STAGED: Key[dict[str, str | None]] = Key("address_staged", {})  # changes to be written; None takes a key out
# Widgets drawn in this run whose values stand in the address: by its key the widget, the default and how it is written.
KEPT: Key[dict[str, tuple[str, Any, Callable[[Any], str]]]] = Key("address_kept", {})
# By key of the address, the widget of the page that is shown and the default it had last.
DEFAULTS: Key[dict[str, tuple[str, Any]]] = Key("address_defaults", {})
# By widget, the values before, the one put there and the address then: the browser may not have heard.
PUT: Key[dict[str, tuple[list[Any], Any, dict[str, str]]]] = Key("address_put", {})
UNTOLD: Key[bool] = Key("address_untold", False)  # whether the run that put something has not come to its end
# By key of the address, what was wrong with it, and the value that was taken instead.
SAID: Key[dict[str, tuple[str, Any]]] = Key("address_said", {})

# --- around every page ---

HIDDEN: Key[frozenset[str]] = Key("hidden", frozenset())  # fields and parts that the link hides
WAITS: Key[tuple[bool, bool]] = Key(
    "{}_waits", (False, True)
)  # whether a part waits, and whether the trainer had started
LINK_NOTES: Key[list[str]] = Key("link_notes", [])  # what the link's configuration made necessary, in words
LINK_RERUN: Key[bool] = Key("link_rerun", False)  # whether the link asks for its run to be computed again and compared
LAST_GOOD: Key[RunConfig] = Key("last_good", RunConfig())  # the configuration that was set last and that could be shown
COMPARE_BEGUN: Key[str] = Key("compare_begun", "")  # what asked for the comparison to play
CLASS_CODE: Key[str] = Key("class_code", "")
CLASS_MEMBER: Key[str] = Key("class_member", "")  # this visitor on the board
CLASS_TOLD: Key[set[tuple[str, str]]] = Key(
    "class_told", set()
)  # class and lesson of every guess that the board has heard

# --- tables that are edited: by the table's key ---

TABLE_VERSION: Key[int] = Key("{}_version", -1)
TABLE_BASE: Key[np.ndarray] = Key("{}_base", np.empty((0, 0)))  # what the editor was begun with
TABLE_GOOD: Key[np.ndarray] = Key("{}_good", np.empty((0, 0)))  # the last that was whole
TABLE_DEFAULT: Key[np.ndarray] = Key("{}_default", np.empty((0, 0)))  # its example's
TABLE_NAMES: Key[tuple[Any, Any]] = Key("{}_names", ((), ()))  # of rows and columns
TABLE_NOT_TAKEN: Key[str] = Key("{}_not_taken", "")  # what was wrong with it in the address

# --- instruments: by panel and question, as `Panel.key` joins them ---

INSTRUMENT: Key[str | None] = Key("instrument", None)  # which is open
MEASURED: Key[Measured[Any] | None] = Key("{}", None)
MEASURED_ASKED: Key[tuple[RunConfig, dict[str, Any], int] | None] = Key("{}_asked", None)
MEASURED_WANTED: Key[tuple[RunConfig, int, dict[str, Any]] | None] = Key("{}_wanted", None)
LENS_WRITTEN: Key[tuple[str, list[dict[str, Any]]]] = Key("{}", ("", []))  # a text that went on, and each token of it

# --- pages ---

START_WATCHED: Key[bool] = Key("start_watched", False)
STORY_SCENE: Key[int] = Key("story_scene", 1)
STORY_OWN: Key[Choice | None] = Key("story_own", None)  # the net that the reader has chosen

GHOST: Key[Profile | None] = Key("ghost", None)  # before the last change
PINNED: Key[Profile | None] = Key("pinned", None)
VIEW: Key[View | None] = Key("view", None)
STARTED: Key[str] = Key("playground_started", "")  # what asked for the run to play, in a text of its own
STOP_LOSS: Key[float] = Key("playground_stop_loss", 0.0)
FIT: Key[int] = Key("playground_fit", 0)  # how often the axes were fitted
ROWS: Key[tuple[RunConfig | None, bool]] = Key(
    "playground_rows", (None, False)
)  # of which run, and whether it had rows
SWITCHED: Key[bool] = Key("playground_switched", False)
PASTED: Key[str] = Key("pasted_configuration", "")
PASTED_REFUSED: Key[str] = Key("pasted_refused", "")

COLUMNS: Key[list[RunConfig]] = Key("compare_columns", [])
COLUMN_DRAWN: Key[tuple[str, RunConfig] | None] = Key("compare_drawn", None)  # which the controls hold
COMPARE_NOTES: Key[list[str]] = Key("compare_notes", [])

ANATOMY_VIEW: Key[View | None] = Key("anatomy_view", None)

LESSONS_DONE: Key[dict[str, Done]] = Key("lessons_done", {})
LESSON_RESET: Key[str] = Key("lesson_{}_reset", "")
ATTEMPT: Key[RunConfig] = Key("{}", RunConfig())  # by lesson, as its attempt is named there
ATTEMPT_PROBLEM: Key[str] = Key("{}_problem", "")
ATTEMPT_WATCHED: Key[RunConfig | None] = Key("{}_watched", None)

ERROR_RUNNING: Key[bool] = Key("error_{}_running", False)
ERRORS_GUESSED: Key[dict[str, bool]] = Key(
    "errors_guessed_right", {}
)  # by card that was run, whether the guess was right

MAP_OWN: Key[MapSpec | None] = Key("map_own", None)  # the last specification that was whole
MAP_FILLED: Key[bool] = Key("map_filled", False)  # whether the controls hold it
MAP_MORE: Key[dict[str, Any]] = Key("map_more", {})  # fields of its base that have no control
MAP_REFUSED: Key[str] = Key("map_refused", "")  # what was wrong with the one in the address
MAP_WANTED: Key[str] = Key("map_wanted", "")  # the digest of the one that is computed
MAPS_BEGUN: Key[set[str]] = Key("maps_begun", set())  # by this visitor: nobody else's can be forgotten
MAP_BASKET: Key[list[Cell]] = Key("map_basket", [])  # cells to be compared

TEACHER_CLASS: Key[tuple[str, str]] = Key("teacher_class", ("", ""))  # the class that is open, and its key
TEACHER_REFUSED: Key[str] = Key("teacher_refused", "")

NET_SEEN: Key[tuple[RunConfig, Sequence[Trace]] | None] = Key("gradients_net_seen", None)
# by part of a lab, the net whose work was begun at a button, and what else was asked
LONG_BEGUN: Key[tuple[RunConfig, dict[str, Any]] | None] = Key("{}_begun", None)
HEAD_FITTING: Key[Tables | None] = Key("attention_head_fitting", None)  # the last tables that fitted together
WRITTEN: Key[Written | None] = Key("autoregression_written", None)
RUNNING: Key[Running | None] = Key("normalization_running", None)  # batch norm's memory
LEARNING_REFUSED: Key[str] = Key("normalization_refused", "")
