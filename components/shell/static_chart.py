"""A chart without a player, drawn by the player's scripts: it keeps its zoom when its data changes, and has a table."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from addnorm.player.colour import HUES
from components.charts.parts import Figure
from components.shell import session
from components.shell.player_files import CSS, LOADER, PLOTLY_ADDRESS, VERSION

_component = st.components.v2.component(
    "static_chart", html='<div class="static-chart"></div>', css=CSS, js=LOADER, isolate_styles=False
)


def static_chart(
    figure: Figure, title: str, key: str, height: int = 280, on_click: Callable[[Any, Any], None] | None = None
) -> None:
    """Draws a figure under its accessible name and a fixed key. Its height is reserved before plotly is loaded.

    `on_click` is called with x and y of a clicked point, as the browser sends them.
    """
    data = {
        "version": VERSION,
        "script": "static_chart",
        "plotly": PLOTLY_ADDRESS,
        "hues": HUES,
        "figure": figure,
        "title": title,
        "height": height,
        "clicks": on_click is not None,
    }
    _component(
        key=key,
        data=data,
        on_clicked_change=lambda: _clicked(key, on_click),
        height=height,
    )


def _clicked(key: str, on_click: Callable[[Any, Any], None] | None) -> None:
    """Passes on where a chart was clicked, if it is a pair: it comes from a browser."""
    point = getattr(session.widget_value(key), "clicked", None)
    if on_click is not None and isinstance(point, list | tuple) and len(point) == 2:
        on_click(*point)
