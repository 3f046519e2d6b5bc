"""A lab in parts, one screen each, of which the address names the one that is open."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.shell.address import kept


def parts(key: str, titles: Sequence[str]) -> Sequence[DeltaGenerator]:
    """A tab for each title. All are drawn, for what is set in one is used in others and stands in the address."""
    state = str(kept(f"{key}_part", titles[0], name="part", among=titles)["key"])
    return st.tabs(titles, key=state, on_change="rerun")
