"""Maps of signed values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from addnorm.player.declare import Figure, colour_bar, figure_of, layout_of
from components.charts.colour import SIGNAL
from components.charts.parts import fixed_map
from components.shell.text import number

MAX_TICKS = 8  # along an axis


def signed_map(
    title: str,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    values: np.ndarray,
    unit: str = "",
    x: str = "",
    y: str = "",
    digits: int | None = None,
    measured: np.ndarray | None = None,
    every_name: bool = False,
    bar: bool = True,
    names_pixels: int | None = None,
) -> Figure:
    """Values (R, C) as colours, the first row on top; grey is 0, and the range is symmetric.

    `digits`: significant digits of the numbers in the cells, None for no numbers. `measured`: which cells have a value.
    `every_name`: every row and column has a tick. `bar`: whether a colour bar with the `unit` is drawn.
    `names_pixels`: width of the margin for the names of the rows.
    """
    cells = np.asarray(values, float).reshape(len(rows), len(columns))
    is_measured = np.ones(cells.shape, bool) if measured is None else measured
    max_ticks = max(cells.shape) if every_name else MAX_TICKS
    layout = layout_of(title, x=x, y=y, legend=False, hue=SIGNAL)
    layout["yaxis"] |= {"autorange": "reversed", "showgrid": False, "ticks": "", **_ticks(rows, max_ticks)}
    layout["xaxis"] |= {"showgrid": False, "ticks": "", **_ticks(columns, max_ticks)}
    if names_pixels is not None:
        layout["margin"]["l"] = names_pixels
    shade: dict[str, Any] = {
        "name": title,
        "x": list(columns),
        "y": list(rows),
        "hovertemplate": "%{y}, %{x}: %{customdata:.4g}<extra></extra>",
        "hue": SIGNAL,
    }
    if bar:
        shade["colorbar"] = colour_bar(unit)
    if digits is not None:
        texts = np.array([number(cell, digits) for cell in cells.ravel()]).reshape(cells.shape)
        shade |= {
            "text": np.where(is_measured, texts, "").tolist(),
            "texttemplate": "%{text}",
            "textfont": {"size": 12},
        }
    traces = [fixed_map(shade, cells, measured, log=False, signed=True)]
    return figure_of(traces, layout, "nothing is added to the tokens")


def _ticks(names: Sequence[str], max_ticks: int) -> dict[str, Any]:
    """At most `max_ticks` of the names as ticks, evenly spaced."""
    interval = max(1, -(-len(names) // max_ticks))
    shown = list(names[::interval])
    return {"type": "category", "tickmode": "array", "tickvals": shown, "ticktext": shown, "tickangle": 0}
