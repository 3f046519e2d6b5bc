"""Closes the drawer over a narrow page when another page is shown.

Streamlit does so only in browsers that call themselves a phone, not on a tablet or in a narrow window, and an open
drawer also covers the first page of the next visit.
"""

from pathlib import Path

import streamlit as st

_component = st.components.v2.component(
    "drawer", html="", js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"), isolate_styles=False
)


def close_drawer(page: str) -> None:
    """Closes the drawer if it covers the page, once for every page that is opened."""
    _component(key="drawer", data={"page": page}, height=0)
