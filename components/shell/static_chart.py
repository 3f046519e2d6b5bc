"""A chart without a player. The player's scripts draw it, so that it keeps its zoom with new data, and has a table."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from addnorm.player.colour import HUES
from components.charts.parts import Figure, scaled_figure
from components.shell import projector, session
from components.shell.player_files import CSS, LOADER, PLOTLY_ADDRESS, VERSION

_component = st.components.v2.component(
    "static_chart", html='<div class="static-chart"></div>', css=CSS, js=LOADER, isolate_styles=False
)


def static_chart(
    figure: Figure, title: str, key: str, height: int = 280, on_click: Callable[[Any, Any], None] | None = None
) -> None:
    """Draws a figure with its accessible name. `height`, in pixels, is reserved before plotly is loaded.

    `on_click` gets x and y of a clicked point, as the browser sends them.
    """
    if projector.is_on():
        figure, height = scaled_figure(figure, projector.CHART_SCALE), round(projector.CHART_SCALE * height)
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
        on_clicked_change=lambda: _pass_on_click(key, on_click),
        height=height,
    )


def _pass_on_click(key: str, on_click: Callable[[Any, Any], None] | None) -> None:
    """Calls back with a clicked point, if the browser has sent a pair."""
    point = getattr(session.widget_value(key), "clicked", None)
    if on_click is not None and isinstance(point, list | tuple) and len(point) == 2:
        on_click(*point)
