"""A small component of the app's own."""

from pathlib import Path
from typing import Any

import streamlit as st


def component(module: str, html: str = "") -> Any:
    """A component whose script stands beside a module (its `__file__`), under the same name, as does its style if it
    has one. It is registered under that name.
    """
    place = Path(module)
    style = place.with_suffix(".css")
    return st.components.v2.component(
        place.stem,
        html=html,
        css=style.read_text(encoding="utf-8") if style.exists() else None,
        js=place.with_suffix(".js").read_text(encoding="utf-8"),
        isolate_styles=False,
    )
