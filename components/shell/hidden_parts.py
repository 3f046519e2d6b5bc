"""The controls (by field) and parts of pages (by name) that a teacher's link hides with `?hide=`.

They stay hidden for the visit, until a link with an empty `hide=` or a new tab. Labs, maps, the glossary and a lesson's
challenge have nets and controls of their own, which nothing hides. This keeps a class from looking ahead, but is no
lock: anybody can edit the address. Homework locks names.
"""

from collections.abc import Iterable

import streamlit as st

from components.shell.session import Key
from models.spec import knobs
from models.spec.query import sanitize

KEY = "hide"
PARTS = ("arrangement", "verdict", "theory", "instruments", "export", "answers", "lessons")
MAX_NAMES = 60  # further names are ignored

HIDDEN: Key[frozenset[str]] = Key("hidden", frozenset())  # fields and parts that the link hides
LOCKED: Key[frozenset[str]] = Key("hidden_locked", frozenset())  # those that no address shows again


def parse_names(text: str) -> tuple[frozenset[str], list[str]]:
    """The known names in a comma-separated list, and a note on every unknown one."""
    names = [name.strip() for name in text[:2000].split(",")[:MAX_NAMES]]
    hidden = frozenset(name for name in names if name in PARTS or name in knobs())
    return hidden, [
        f"there is nothing called {sanitize(name)} to hide: ignored" for name in names if name and name not in hidden
    ]


def adopt() -> None:
    """Once per script run, before anything is drawn: hides what the address names, and notes unknown names."""
    text = st.query_params.get(KEY)
    if text is None:
        return
    hidden, notes = parse_names(text)
    HIDDEN.put(hidden)
    if notes:
        st.info("From the link: " + "; ".join(notes[:3]) + (" ..." if len(notes) > 3 else "") + ".")


def lock(names: frozenset[str]) -> None:
    """Hides these whatever the address says, and no longer what was locked before."""
    LOCKED.put(names)


def query() -> dict[str, str]:
    """The hidden names of this visit for the address, because a reload starts a new visit."""
    hidden_names = HIDDEN.get()
    return {KEY: ",".join(sorted(hidden_names))} if hidden_names else {}


def is_hidden(name: str) -> bool:
    return name in HIDDEN.get() | LOCKED.get()


def hides_anything() -> bool:
    return bool(HIDDEN.get() | LOCKED.get())


def any_hidden(names: Iterable[str]) -> bool:
    """Whether any of the names is hidden: then a control that sets them together must be hidden too."""
    return any(is_hidden(name) for name in names)
