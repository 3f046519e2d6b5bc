"""The memory of a visitor's browser: guesses and solved challenges, finished steps of the tour, its part in a class.

It stays in that browser, or in its tab where storage is denied, as entries of JSON by name; the server stores none of
it. The session has the entries that it has put, and those that the browser has sent.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from components.shell import session
from components.shell.component import component
from components.shell.session import Key

NAME = "memory"
MAX_ENTRIES, MAX_CHARACTERS = 64, 16_384  # of the JSON that a browser stores
HTML = (
    '<nav class="tour" aria-label="Five-minute tour" hidden><span></span><a></a><button type="button"></button></nav>'
)

MEMORY: Key[dict[str, Any]] = Key("memory_entries", {})
MEMORY_NEW: Key[dict[str, Any]] = Key("memory_new", {})  # entries that this session has put
MEMORY_HEARD = Key("memory_heard", False)  # whether the browser has sent its entries
MEMORY_GO = Key("memory_go", "")  # the step of the tour that the visitor follows

_component = component(__file__, HTML)


def recall(name: str) -> Any:
    """An entry, which comes from a browser and must be checked like any input; None if there is none."""
    return MEMORY.get().get(name)


def remember(name: str, value: Any) -> None:
    """Has the browser store an entry."""
    if recall(name) != value:
        MEMORY.mutable()[name] = MEMORY_NEW.mutable()[name] = value


def has_answered() -> bool:
    return MEMORY_HEARD.get()


def draw(
    tour: dict[str, Any] | None, *, asks: bool, keeps: bool, offers: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Once at the end of a page: sends the browser new entries (`keeps`) and requests its own (`asks`).

    `tour`: the data of the tour's line; None for a page without it. `offers`: entries for a browser that has none of
    these names; one that has others sends its own.
    """
    data = {
        "entries": MEMORY_NEW.get() if keeps else {},
        "offers": {} if has_answered() else dict(offers),
        "asks": asks and not has_answered(),
        "maxEntries": MAX_ENTRIES,
        "maxCharacters": MAX_CHARACTERS,
        "tour": tour,
    }
    _component(key=NAME, data=data, on_kept_change=_receive_entries, on_go_change=_receive_step)


def _widget_attribute(name: str) -> Any:
    return getattr(session.widget_value(NAME), name, None)


def _receive_entries() -> None:
    """Takes the browser's entries, except those that this session has put."""
    entries = _widget_attribute("kept")
    if not isinstance(entries, dict) or len(entries) > MAX_ENTRIES:
        return
    if len(json.dumps(entries, ensure_ascii=False)) <= MAX_CHARACTERS:
        MEMORY.put(entries | MEMORY_NEW.get())
        MEMORY_HEARD.put(True)


def _receive_step() -> None:
    MEMORY_GO.put(str(_widget_attribute("go")))
