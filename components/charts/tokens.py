"""Charts over tokens: where attention looks, what is said at every site, and what comes next. Data in, figure out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from components.charts.colour import RED, SIGNAL, colour_scale
from components.charts.parts import Figure, finished, frame_of, listed, note, rounded, rounded_grid

TEXT_ROWS = 30  # of a map, above which its cells are too low for letters
TOKEN_ROOM = 40  # letters that fit below a narrow chart
LIKELIEST = 12


def token_map(
    *,
    title: str,
    tokens: Sequence[str],
    rows: Sequence[str],
    values: np.ndarray,
    unit: str,
    x: str = "token looked at",
    y: str = "",
    texts: Sequence[Sequence[str]] | None = None,
    hidden: np.ndarray | None = None,
    marked: int | None = None,
) -> Figure:
    """Shares (R, T) as colour over tokens and rows, the first row
    at the top. `texts` are written in the cells and in the hover.

    `hidden` cells stay empty: nothing is measured there. What is not finite anywhere else is red. `marked` is a token.
    """
    cells = np.asarray(values, float).reshape(len(rows), len(tokens))
    away = np.zeros(cells.shape, bool) if hidden is None else hidden
    lost = ~np.isfinite(cells) & ~away
    layout = frame_of(title, x=x, y=y, legend=False, hue=SIGNAL)
    layout["xaxis"] |= _ticks(tokens, TOKEN_ROOM) | {"showgrid": False, "ticks": ""}
    layout["yaxis"] |= _ticks(rows, 10**3) | {"autorange": "reversed", "showgrid": False, "ticks": ""}
    if not cells.size or away.all():
        return finished([], layout, "nothing to look at")
    place: dict[str, Any] = {"x": list(range(1, len(tokens) + 1)), "y": list(range(1, len(rows) + 1))}
    words = [["" for _ in tokens] for _ in rows] if texts is None else [list(row) for row in texts]
    written = (
        {"texttemplate": "%{text}", "textfont": {"size": 11}} if texts is not None and len(rows) <= TEXT_ROWS else {}
    )
    shade = {
        "type": "heatmap",
        "name": title,
        **place,
        "z": listed(np.round(cells, 4), ~away & ~lost),
        "zmin": 0,
        "zmax": 1,
        "customdata": [
            [None if gone else number for gone, number in zip(hid, row, strict=True)]
            for hid, row in zip(away.tolist(), rounded_grid(cells), strict=True)
        ],
        "text": words,
        "hovertemplate": f"row %{{y}}, token %{{x}}: %{{customdata:.4g}} {unit} %{{text}}<extra></extra>",
        "hoverongaps": False,
        "colorscale": colour_scale(SIGNAL),
        "colorbar": {"thickness": 10, "title": {"text": unit, "side": "right"}, "outlinewidth": 0},
        **written,
    }
    traces = [shade]
    if lost.any():
        layout["annotations"] = [_corner(f"cells: {int(lost.sum())} not finite (red)")]
        traces.append(_lost(cells, lost, place))
    if marked is not None:
        layout["shapes"] = [_frame_around(marked, len(rows))]
    return finished(traces, layout, "")


def likeliest_chart(title: str, names: Sequence[str], p: np.ndarray) -> Figure:
    """The twelve likeliest of all classes (C,) as bars."""
    layout = frame_of(title, x="said next", y="probability", legend=False, hue=SIGNAL)
    p = np.asarray(p, float)
    if not np.isfinite(p).all():
        return finished([], layout, "the probabilities are not finite")
    order = np.argsort(-p, kind="stable")[:LIKELIEST]
    labels = [names[at] for at in order]
    layout["xaxis"] |= {**_ticks(labels, 10**3)}
    layout["yaxis"] |= {"rangemode": "tozero"}
    bars = {
        "type": "bar",
        "name": "probability",
        "x": list(range(1, len(labels) + 1)),
        "y": rounded(p[order]),
        "text": labels,
        "textposition": "none",
        "marker": {"color": SIGNAL},
        "hovertemplate": "%{text}: %{y:.4g}<extra></extra>",
    }
    return finished([bars], layout, "nothing to choose from")


def _ticks(names: Sequence[str], room: int) -> dict[str, Any]:
    """Every name at its place, or every second, third, ... of them where they would overlap."""
    width = max((len(name) for name in names), default=1)
    every = max(1, -(-len(names) * width // room)) if width > 1 else 1
    places = list(range(1, len(names) + 1, every))
    return {
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [names[at - 1] for at in places],
        "tickangle": 0,
        "tickfont": {"size": 10},
    }


def _lost(cells: np.ndarray, lost: np.ndarray, place: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "name": "not finite",
        **place,
        "z": listed(np.ones(cells.shape), lost),
        "customdata": listed(np.where(np.isnan(cells), "nan", "inf"), lost),
        "hovertemplate": "row %{y}, token %{x}: %{customdata}<extra></extra>",
        "hoverongaps": False,
        "colorscale": [[0, RED], [1, RED]],
        "showscale": False,
    }


def _frame_around(token: int, rows: int) -> dict[str, Any]:
    """A white frame around a token's column; tokens are counted from 1."""
    return {
        "type": "rect",
        "x0": token - 0.5,
        "x1": token + 0.5,
        "y0": 0.5,
        "y1": rows + 0.5,
        "line": {"color": "#ffffff", "width": 2},
    }


def _corner(text: str) -> dict[str, Any]:
    return note(text, x=1, xref="paper", xanchor="right", y=1, yref="paper", yanchor="bottom")
