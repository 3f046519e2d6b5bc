"""Maps of signed values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from addnorm.player.declare import Figure, colour_bar, figure_of, frame_of
from components.charts.colour import SIGNAL
from components.charts.parts import fixed_map

MAX_NAMES = 8  # along an axis


def signed_map(
    title: str,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    values: np.ndarray,
    unit: str,
    x: str,
    y: str,
    texts: Sequence[Sequence[str]] | None = None,
    measured: np.ndarray | None = None,
    every_name: bool = False,
    bar: bool = True,
) -> Figure:
    """Values (R, C) as colours, the first row on top; grey is 0, and the range is symmetric.

    `texts`: in the cells; `measured`: which cells have a value; `every_name`: no name is left out of the axes.
    """
    layout = frame_of(title, x=x, y=y, legend=False, hue=SIGNAL)
    most = max(len(rows), len(columns)) if every_name else MAX_NAMES
    layout["yaxis"] |= {"autorange": "reversed", "showgrid": False, "ticks": "", **_some(rows, most)}
    layout["xaxis"] |= {"showgrid": False, "ticks": "", **_some(columns, most)}
    cells = np.asarray(values, float).reshape(len(rows), len(columns))
    shade: dict[str, Any] = {
        "name": title,
        "x": list(columns),
        "y": list(rows),
        "hovertemplate": "%{y}, %{x}: %{customdata:.4g}<extra></extra>",
        "hue": SIGNAL,
    } | ({"colorbar": colour_bar(unit)} if bar else {})
    if texts is not None:
        shade |= {"text": [list(row) for row in texts], "texttemplate": "%{text}", "textfont": {"size": 12}}
    traces = [fixed_map(shade, cells, measured, log=False, signed=True)]
    return figure_of(traces, layout, "nothing is added to the tokens")


def _some(names: Sequence[str], most: int) -> dict[str, Any]:
    """At most `most` of the names as ticks, evenly spaced."""
    every = max(1, -(-len(names) // most))
    shown = list(names[::every])
    return {"type": "category", "tickmode": "array", "tickvals": shown, "ticktext": shown, "tickangle": 0}
