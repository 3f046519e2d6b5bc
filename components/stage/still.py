"""A chart that stands still, drawn by the stage's own scripts:
it keeps its zoom when its data changes, and has its numbers.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from components.charts.parts import Figure
from components.shell import session
from components.shell.assets import plotly_chunk
from components.stage.files import CSS, LOADER, VERSION

_component = st.components.v2.component(
    "still_chart", html='<div class="stage-still"></div>', css=CSS, js=LOADER, isolate_styles=False
)


def still_chart(
    figure: Figure, *, key: str, alt: str, height: int = 300, on_click: Callable[[Any, Any], None] | None = None
) -> None:
    """Draws a figure under a fixed key; `alt` is its accessible name. Its height is reserved before plotly is there.

    `on_click` is given x and y of a point that was clicked, as the browser says them.
    """
    title = alt.removesuffix(", chart")
    data = {
        "version": VERSION,
        "script": "still",
        "chunk": plotly_chunk(),
        "figure": figure,
        "title": title,
        "height": height,
    }
    _component(
        key=key,
        data=data | {"clicks": on_click is not None},
        on_clicked_change=lambda: _clicked(key, on_click),
        height=height,
    )


def _clicked(key: str, on_click: Callable[[Any, Any], None] | None) -> None:
    """Hands on where a chart was clicked."""
    place = getattr(session.held(key), "clicked", None)
    if on_click is not None and isinstance(place, list | tuple) and len(place) == 2:  # it comes from a browser
        on_click(*place)
