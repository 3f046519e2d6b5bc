"""The configuration in the address bar: adopted when it comes from outside, written when a control moves.

Written by hand rather than by `bind`, which never clamps, forgets controls that are not drawn, and makes one history
entry per control when an arrangement sets several.
"""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import streamlit as st

from models.log import event
from models.spec import RunConfig, knobs

# Absolute: the main script, to which page paths are relative, is another one in tests.
PAGES = Path(__file__).parents[1] / "pages"
PLAYGROUND, COMPARE = PAGES / "train" / "playground.py", PAGES / "train" / "compare.py"
ANATOMY = PAGES / "explore" / "anatomy.py"
LESSONS = PAGES / "learn" / "lessons.py"
FOREIGN = ("lesson", "hide", "view", "class", "digest")  # keys of other rooms: kept in the link, not read here
WRITTEN, NOTES, CAME_FROM, HERE = "link_written", "link_notes", "link_came_from", "link_here"
RERUN = "link_rerun"  # whether the link asks for its run to be computed again and compared
OWNER = "link_owner"  # whose configuration the controls hold: "one" run's, or a column of a comparison


def note_page(url_path: str) -> None:
    """Remembers which page is shown and which was before, to tell a walk through the navigation from a link."""
    if HERE not in st.session_state:
        event("visitor_came", page=url_path or "start")
    st.session_state[CAME_FROM] = st.session_state.get(HERE, url_path)
    st.session_state[HERE] = url_path


def adopt(page: Path) -> list[str]:
    """Before the widgets: puts a link's configuration into their state; returns what it clamped or ignored, in words.

    A visitor who walks back through the navigation has an empty address and finds what was set before.
    """
    query = st.query_params.to_dict()
    written = st.session_state.get(WRITTEN)
    walked_back = not query and written and st.session_state[CAME_FROM] != st.session_state[HERE]
    if walked_back:
        st.session_state[CAME_FROM] = st.session_state[HERE]
        st.switch_page(page, query_params=written)
    if query != written or st.session_state.get(OWNER) != "one":
        cfg, notes = RunConfig.from_query({key: value for key, value in query.items() if key not in FOREIGN})
        put({name: getattr(cfg, name) for name in knobs()})
        st.session_state[NOTES] = notes
        st.session_state[WRITTEN], st.session_state[OWNER] = query, "one"
        st.session_state[RERUN] = "digest" in query
    return st.session_state.get(NOTES, [])


def write(cfg: RunConfig) -> None:
    """After the widgets: one history entry per change of the configuration. Foreign keys stay; a digest was of another run."""
    before = st.query_params.to_dict()
    foreign = {key: value for key, value in before.items() if key in FOREIGN}
    if cfg.to_query() != {key: value for key, value in before.items() if key not in FOREIGN}:
        foreign.pop("digest", None)
    query = cfg.to_query() | foreign
    if query != before:
        st.session_state[WRITTEN] = query  # before the write: a rerun may cut in
        st.query_params.from_dict(query)


def put(fields: dict[str, Any]) -> None:
    """Sets fields in the state of their widgets; to be called before these are drawn, or in a callback."""
    for name, value in fields.items():
        st.session_state[name] = value


def defined(tip: str, word: str) -> str:
    """A control's help that ends with the way to its word in the glossary. Relative, so that it holds under a base path too."""
    return f"{tip} [Glossary](glossary?word={quote(word.casefold(), safe='')})"


def help_of(field: str) -> str:
    """The help of a configuration's field, wherever its control is drawn."""
    knob = knobs()[field][1]
    return defined(knob.help, knob.label)


def dismiss_notes() -> None:
    """Forgets what the last link made necessary to say."""
    st.session_state[NOTES] = []
