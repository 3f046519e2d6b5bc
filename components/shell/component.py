"""Streamlit components whose script and style stand beside their module."""

from pathlib import Path
from typing import Any

import streamlit as st


def component(module: str, html: str = "") -> Any:
    """The component of a module (its `__file__`), whose script and optional style have the same name."""
    path = Path(module)
    style = path.with_suffix(".css")
    return st.components.v2.component(
        path.stem,
        html=html,
        css=style.read_text(encoding="utf-8") if style.exists() else None,
        js=path.with_suffix(".js").read_text(encoding="utf-8"),
        isolate_styles=False,
    )
