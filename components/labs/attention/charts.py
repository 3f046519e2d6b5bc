"""Charts of the attention lab: dependency graphs."""

from typing import Any

import numpy as np

from addnorm.player.charts import Figure, figure_of, frame_of
from components.charts.colour import GREY, SIGNAL


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
