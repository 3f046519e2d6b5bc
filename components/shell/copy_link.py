"""A button at the top of every page that copies its address."""

from pathlib import Path

import streamlit as st

HERE = Path(__file__)
_component = st.components.v2.component(
    "copy_link",
    html='<button type="button" class="copy-link" title="Copy a link to what is shown"></button>',
    css=HERE.with_suffix(".css").read_text(encoding="utf-8"),
    js=HERE.with_suffix(".js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def copy_link() -> None:
    """Draws the button into Streamlit's header; it takes no room on the page."""
    _component(key="copy_link", data={"words": "Copy link"})
