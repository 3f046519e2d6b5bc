"""A lab as tabs; the address names the open one."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.shell.address import url_param


def parts(key: str, titles: Sequence[str]) -> Sequence[DeltaGenerator]:
    """A tab for each title. All are drawn, because settings of one are used in others and kept in the address."""
    state = str(url_param(f"{key}_part", titles[0], name="part", among=titles)["key"])
    return st.tabs(titles, key=state, on_change="rerun")
