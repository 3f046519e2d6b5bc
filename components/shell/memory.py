"""What a visitor's browser remembers: what was guessed and solved, and the steps of the tour that are done.

It stays in that browser, as entries of JSON by name. The session has those that it has put, and those that the browser
was asked for; nothing of it is kept on the server.
"""

import json
from typing import Any

from components.shell import session
from components.shell.component import component
from components.shell.session import Key

NAME = "memory"
MOST, LONGEST = 64, 16_384  # entries, and characters of JSON, that a browser keeps
HTML = (
    '<nav class="tour" aria-label="Five-minute tour" hidden><span></span><a></a><button type="button"></button></nav>'
)

MEMORY: Key[dict[str, Any]] = Key("memory_entries", {})
MEMORY_NEW: Key[dict[str, Any]] = Key("memory_new", {})  # what this session has put
MEMORY_HEARD = Key("memory_heard", False)  # whether the browser has said what it remembers
MEMORY_GO = Key("memory_go", "")  # the step of the tour that was asked for

_component = component(__file__, HTML)


def recalled(name: str) -> Any:
    """An entry, which comes from a browser and is checked like any input; None without one."""
    return MEMORY.get().get(name)


def keep(name: str, value: Any) -> None:
    """Has the browser keep an entry."""
    if recalled(name) != value:
        MEMORY.mutable()[name] = MEMORY_NEW.mutable()[name] = value


def heard() -> bool:
    """Whether the browser has said what it remembers."""
    return MEMORY_HEARD.get()


def draw(tour: dict[str, Any] | None, *, asks: bool, keeps: bool) -> None:
    """Once at the end of a page: tells the browser what to keep, if it `keeps`; if it `asks`, hears what was kept.

    `tour`: what its line is told; None where there is none.
    """
    data = {
        "entries": MEMORY_NEW.get() if keeps else {},
        "asks": asks and not heard(),
        "most": MOST,
        "longest": LONGEST,
        "tour": tour,
    }
    _component(key=NAME, data=data, on_kept_change=_hear, on_go_change=_go)


def _said(what: str) -> Any:
    return getattr(session.widget_value(NAME), what, None)


def _hear() -> None:
    """Takes over what the browser remembers, except for what this session knows better."""
    message = _said("kept")
    if isinstance(message, dict) and len(message) <= MOST and len(json.dumps(message, ensure_ascii=False)) <= LONGEST:
        MEMORY.put(message | MEMORY_NEW.get())
        MEMORY_HEARD.put(True)


def _go() -> None:
    MEMORY_GO.put(str(_said("go")))
