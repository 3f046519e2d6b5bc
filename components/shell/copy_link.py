"""A button at the top of every page that copies its address, or shows it to be copied by hand."""

from pathlib import Path

import streamlit as st

HERE = Path(__file__)
HTML = """<button type="button" class="copy-link" title="Copy a link to what is shown"></button>
<label class="copy-by-hand" hidden>Copy this link:<input type="text" readonly></label>"""
_component = st.components.v2.component(
    "copy_link",
    html=HTML,
    css=HERE.with_suffix(".css").read_text(encoding="utf-8"),
    js=HERE.with_suffix(".js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def copy_link() -> None:
    """Draws the button into Streamlit's header; it takes no room on the page."""
    _component(key="copy_link", data={"words": "Copy link"})
