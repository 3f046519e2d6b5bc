"""The drawer over a narrow page closes when another page is shown.

Streamlit closes it by itself only in what calls itself a phone, not on a tablet or in a narrow window, and a drawer
that was left open lies over the page of the next visit too.
"""

from pathlib import Path

import streamlit as st

_component = st.components.v2.component(
    "drawer", html="", js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"), isolate_styles=False
)


def close_drawer(page: str) -> None:
    """Takes the drawer off a page that it covers, once for each page that is come to."""
    _component(key="drawer", data={"page": page}, height=0)
