"""Charts of the attention lab: maps of signed values and dependency graphs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from addnorm.player.charts import Figure, colour_bar, figure_of, frame_of
from components.charts.bindings import fixed_map
from components.charts.colour import GREY, SIGNAL, SIGNED


def signed_map(
    title: str, *, rows: Sequence[str], columns: Sequence[str], values: np.ndarray, unit: str, x: str, y: str
) -> Figure:
    """Values (R, C) as colours, the first row on top; grey is 0, and the range is symmetric."""
    layout = frame_of(title, x=x, y=y, legend=False, hue=SIGNAL)
    layout["yaxis"] |= {"autorange": "reversed", "showgrid": False, "ticks": "", **_some(rows)}
    layout["xaxis"] |= {"showgrid": False, "ticks": "", **_some(columns)}
    cells = np.asarray(values, float).reshape(len(rows), len(columns))
    shade = {
        "name": title,
        "x": list(columns),
        "y": list(rows),
        "hovertemplate": "%{y}, %{x}: %{customdata:.4g}<extra></extra>",
        "colorscale": SIGNED,
        "colorbar": colour_bar(unit),
    }
    traces = [fixed_map(shade, cells, log=False, signed=True)]
    return figure_of(traces, layout, "nothing is added to the tokens")


def waiting_graph(title: str, steps: np.ndarray, *, recurrent: bool) -> Figure:
    """What depends on what: a chain from state to state, or every output directly on the tokens up to its own.

    `steps` (n, n): sequential steps from a token (column) to a position (row), negative where there is no way.
    """
    count = len(steps)
    layout = frame_of(title, x="token", y="", legend=False)
    layout["xaxis"] |= {"dtick": 1, "showgrid": False}
    layout["yaxis"] |= {
        "tickmode": "array",
        "tickvals": [0, 1],
        "ticktext": ["token", "state" if recurrent else "output"],
        "range": [-0.3, 1.3],
        "showgrid": False,
    }
    ends = [((at, 0), (at, 1)) for at in range(1, count + 1)]
    if recurrent:
        ends += [((at, 1), (at + 1, 1)) for at in range(1, count)]
    else:
        ends = [((seen, 0), (at, 1)) for at in range(1, count + 1) for seen in range(1, at + 1)]
    path: list[tuple[float | None, float | None]] = []
    for begin, end in ends:
        path += [begin, end, (None, None)]
    arrows: dict[str, Any] = {
        "type": "scatter",
        "name": "needs",
        "x": [x for x, _ in path],
        "y": [y for _, y in path],
        "mode": "lines",
        "line": {"color": GREY, "width": 1.5},
        "hoverinfo": "skip",
    }
    places = [(at, row) for row in (0, 1) for at in range(1, count + 1)]
    known = [0] * count + steps.max(1).tolist()
    dots: dict[str, Any] = {
        "type": "scatter",
        "name": "known after",
        "x": [x for x, _ in places],
        "y": [y for _, y in places],
        "mode": "markers+text",
        "text": [str(step) if step else "" for step in known],
        "textposition": "top center",
        "marker": {"color": SIGNAL, "size": 10, "symbol": ["square"] * count + ["circle"] * count},
        "hovertemplate": "token %{x}: known after %{customdata} steps<extra></extra>",
        "customdata": known,
    }
    return figure_of([arrows, dots], layout, "no tokens")


def _some(names: Sequence[str], most: int = 8) -> dict[str, Any]:
    """At most `most` of the names as ticks, evenly spaced."""
    every = max(1, -(-len(names) // most))
    shown = list(names[::every])
    return {"type": "category", "tickmode": "array", "tickvals": shown, "ticktext": shown, "tickangle": 0}
