"""What a teacher's link hides: controls by their field, and parts of the pages by the names below.

It stays hidden for the visit on start, playground, compare, anatomy and lessons, until a link with an empty `hide=` or
a new tab. Labs, maps, claims, the glossary and a lesson's challenge have nets and controls of their own, which
nothing hides. It keeps a class from looking ahead, but is no lock: whoever edits the address sees everything.
"""

from collections.abc import Iterable

import streamlit as st

from components.shell.session import Key
from models.spec import knobs
from models.spec.query import harmless

KEY = "hide"
PARTS = ("arrangement", "verdict", "theory", "instruments", "export", "answers", "lessons")
MOST = 60  # names that are read

HIDDEN: Key[frozenset[str]] = Key("hidden", frozenset())  # fields and parts that the link hides


def from_text(text: str) -> tuple[frozenset[str], list[str]]:
    """The known names in a comma-separated list, and a note on every unknown one."""
    names = [name.strip() for name in text[:2000].split(",")[:MOST]]
    known = frozenset(name for name in names if name in PARTS or name in knobs())
    return known, [
        f"there is nothing called {harmless(name)} to hide: ignored" for name in names if name and name not in known
    ]


def adopt() -> None:
    """Once per script run, before anything is drawn: adopts what the address hides, and says what is unknown."""
    text = st.query_params.get(KEY)
    if text is None:
        return
    known, notes = from_text(text)
    HIDDEN.put(known)
    if notes:
        st.info("From the link: " + "; ".join(notes[:3]) + (" ..." if len(notes) > 3 else "") + ".")


def query() -> dict[str, str]:
    """What is hidden in this visit, for the address: a reload is a new visit and knows nothing else."""
    hidden_names = HIDDEN.get()
    return {KEY: ",".join(sorted(hidden_names))} if hidden_names else {}


def hidden(name: str) -> bool:
    """Whether a field or a part is hidden in this visit."""
    return name in HIDDEN.get()


def anything() -> bool:
    """Whether this visit hides anything."""
    return bool(HIDDEN.get())


def any_hidden(names: Iterable[str]) -> bool:
    """Whether any of them is hidden: then a control that sets it together with others must be hidden, too."""
    return any(hidden(name) for name in names)
