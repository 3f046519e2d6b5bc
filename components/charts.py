"""The charts of layers and steps: numbers in, figure out. An empty input gives an empty figure that says why.

A figure is a plain dict of plotly's schema (`plotly.graph_objects.Figure` accepts it): live pages make many, and
building graph objects would cost more than all the rest. Text and grid colours are set in the browser, from the theme.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from models.trace import Divergence

if TYPE_CHECKING:
    import pandas as pd

Figure = dict[str, Any]

MAX_POINTS = 300
BLUE, ORANGE, GREEN, PURPLE, GREY = "#2f86d6", "#e08214", "#1a9e77", "#b35fb0", "#8a8f98"
RED = "#d84a3a"

# A role is coded twice: colour, and dash or marker, so that the chart can be read without its colours.
ROLES: dict[str, dict[str, Any]] = {
    "now": {"line": {"color": BLUE, "width": 3}, "marker": {"symbol": "circle", "size": 5}, "mode": "lines+markers"},
    "ghost": {"line": {"color": GREY, "width": 2, "dash": "dot"}, "mode": "lines"},
    "pinned": {"line": {"color": ORANGE, "width": 2, "dash": "dash"}, "mode": "lines"},
    "formula": {"line": {"color": GREEN, "width": 2, "dash": "dashdot"}, "mode": "lines"},
    "initial": {"line": {"color": PURPLE, "width": 2, "dash": "longdash"}, "mode": "lines"},
}


@dataclass(frozen=True)
class Series:
    """A line over depth: its name in the legend, one value per site, and its role (a key of ROLES)."""

    name: str
    values: np.ndarray
    role: str = "now"


def log_range(previous: tuple[float, float] | None, *arrays: np.ndarray) -> tuple[float, float]:
    """log10 bounds of a held axis: they cover all finite positive values, two decades at least, and never shrink."""
    values = np.concatenate([np.ravel(array) for array in arrays]) if arrays else np.empty(0)
    values = values[np.isfinite(values) & (values > 0)].astype(float)
    low, high = (math.inf, -math.inf) if previous is None else previous
    if len(values):
        low, high = (
            min(low, math.floor(2 * math.log10(values.min()) - 0.2) / 2),
            max(high, math.ceil(2 * math.log10(values.max()) + 0.2) / 2),
        )
    if low > high:
        return -1.0, 1.0
    missing = max(0.0, 2 - (high - low))
    return low - math.ceil(missing) / 2, high + math.ceil(missing) / 2


def depth_profile(
    *, title: str, unit: str, sites: Sequence[str], series: Sequence[Series], range_: tuple[float, float] | None = None
) -> Figure:
    """Values over depth on a log axis. Zeros and non-finite values are marks at the edges, never dropped."""
    low, high = range_ or log_range(None, *(s.values for s in series))
    traces: list[dict[str, Any]] = []
    for one in series:
        traces.append(_depth_line(one, sites, positive=True))
        traces += _edge_marks(one, sites, low, high)
    layout = _layout(title, x="depth", y=unit, ticks=_site_ticks(sites))
    layout["yaxis"] |= {"type": "log", "range": [low, high], **_decade_ticks(low, high)}
    return _figure(traces, layout, "nothing measured yet")


def cosine_chart(*, sites: Sequence[str], series: Sequence[Series], title: str = "Sample cosine by depth") -> Figure:
    """Mean cosine between different samples over depth, with a guide at 1, where all of them are one direction."""
    traces = [_depth_line(one, sites, positive=False) for one in series]
    layout = _layout(title, x="depth", y="cosine", ticks=_site_ticks(sites))
    layout["yaxis"] |= {"range": [-0.25, 1.08], "dtick": 0.25}
    layout["shapes"] = [_line(y=1.0, dash="dot")]
    return _figure(traces, layout, "nothing measured yet")


def loss_chart(
    *,
    step: np.ndarray,
    loss: np.ndarray,
    shown_step: int | None = None,
    held_out_step: np.ndarray | Sequence[int] = (),
    held_out_loss: np.ndarray | Sequence[float] = (),
    chance: float | None = None,
    total_steps: int | None = None,
    divergence: Divergence | None = None,
) -> Figure:
    """The raw training loss, the held-out loss at the frames, and the loss of guessing; nothing is smoothed."""
    kept = decimate(np.asarray(loss, float))
    finite = kept[np.isfinite(np.asarray(loss, float)[kept])]
    top = _loss_top(np.asarray(loss, float), chance)
    traces: list[dict[str, Any]] = [
        _scatter("training", np.asarray(step)[finite], np.minimum(np.asarray(loss, float)[finite], top * 1.5), BLUE),
        _scatter("held-out", held_out_step, held_out_loss, ORANGE, mode="lines+markers", dash="dash", symbol="diamond"),
    ]
    traces[0]["customdata"] = rounded(np.asarray(loss, float)[finite])
    traces[0]["hovertemplate"] = "step %{x}: %{customdata:.4g}<extra>training</extra>"
    layout = _layout("Loss", x="step", y="cross-entropy")
    layout["xaxis"] |= {"range": [0, max(1, total_steps or len(step))]}
    layout["yaxis"] |= {"range": [0, top]}
    layout["shapes"], layout["annotations"] = [], []
    if chance is not None:
        layout["shapes"].append(_line(y=chance, dash="dot"))
        layout["annotations"].append(_note("guessing", x=1, xref="paper", y=chance, xanchor="right", yanchor="bottom"))
    if shown_step is not None and len(step):
        layout["shapes"].append(_line(x=shown_step))
    if divergence is not None:
        traces.append(_scatter("diverged", [divergence.step], [top * 0.97], RED, mode="markers", symbol="x"))
    return _figure(traces, layout, "not trained yet", drawn=len(step) > 0)


def step_map(
    *, title: str, unit: str, sites: Sequence[str], step: np.ndarray, values: np.ndarray, shown_step: int | None = None
) -> Figure:
    """log10 of values (T, S) as colour over step and depth; cells that are zero or not finite stay empty and are counted."""
    layout = _layout(title, x="step", y="depth", legend=False)
    layout["yaxis"] |= _site_ticks(sites)
    layout["shapes"] = [_line(x=shown_step)] if shown_step is not None else []
    if len(step) == 0:
        return _figure([], layout, "not trained yet")
    picked = np.unique(np.linspace(0, len(step) - 1, min(150, len(step))).round().astype(int))
    cells = np.asarray(values, float)[picked].T
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(np.isfinite(cells) & (cells > 0), np.log10(cells), np.nan)
    ticks = _colour_ticks(logs)
    bar = {"thickness": 10, "title": {"text": unit, "side": "right"}, "outlinewidth": 0, **ticks}
    trace = {
        "type": "heatmap",
        "x": np.asarray(step)[picked].tolist(),
        "y": list(range(len(sites))),
        "z": [[None if math.isnan(v) else round(v, 3) for v in row] for row in logs],
        "customdata": [rounded(row) for row in cells],
        "text": [[site] * len(picked) for site in sites],
        "hovertemplate": "%{text}, step %{x}: %{customdata:.4g}<extra></extra>",
        "colorscale": "Viridis",
        "colorbar": bar,
        "name": title,
    }
    lost = int(np.isnan(logs).sum())
    if lost:
        layout["annotations"] = [
            _note(f"{lost} cells are zero or not finite", x=0.5, xref="paper", y=1, yref="paper", yanchor="bottom")
        ]
    return _figure([trace], layout, "")


def table_of(figure: Figure) -> "pd.DataFrame":
    """The numbers behind a figure: one row per point, or the grid of a map."""
    import pandas as pd

    parts = []
    for trace in figure["data"]:
        if trace["type"] == "scatter":
            values = trace.get("customdata", trace["y"])
            parts.append(pd.DataFrame({"line": trace["name"], "at": trace.get("text", trace["x"]), "value": values}))
        elif trace["type"] == "heatmap":
            parts.append(pd.DataFrame(trace["customdata"], index=[row[0] for row in trace["text"]], columns=trace["x"]))
    return pd.concat(parts, ignore_index=figure["data"][0]["type"] == "scatter") if parts else pd.DataFrame()


def decimate(values: np.ndarray, points: int = MAX_POINTS) -> np.ndarray:
    """Indices that keep a long line's shape: both ends, and the least and the greatest of every bucket."""
    if len(values) <= points:
        return np.arange(len(values))
    edges = np.linspace(0, len(values), points // 2).astype(int)
    kept = {0, len(values) - 1}
    for start, end in pairwise(edges):
        part = np.nan_to_num(values[start:end], nan=np.inf)
        kept |= {start + int(part.argmin()), start + int(part.argmax())}
    return np.array(sorted(kept))


def rounded(values: np.ndarray | Sequence[float]) -> list[float | None]:
    """Four significant digits; None for what is not finite, which JSON lacks."""
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in np.asarray(values, float).tolist()]


def _figure(traces: list[dict[str, Any]], layout: dict[str, Any], empty: str, *, drawn: bool = True) -> Figure:
    if (not traces or not drawn) and empty:
        layout.setdefault("annotations", []).append(_note(empty, x=0.5, xref="paper", y=0.5, yref="paper", size=14))
    return {"data": [trace for trace in traces if len(trace["x"])], "layout": layout}


def _layout(title: str, *, x: str, y: str, ticks: dict[str, Any] | None = None, legend: bool = True) -> dict[str, Any]:
    """Compact, for a third of a page or a phone. The legend stands between title and plot."""
    return {
        "title": {"text": f"<b>{title}</b>", "font": {"size": 13}, "x": 0, "xref": "container", "y": 0.99, "yanchor": "top"},
        "margin": {"l": 50, "r": 6, "t": 44 if legend else 28, "b": 36},
        "xaxis": {"title": {"text": x, "standoff": 4}, "automargin": False, "zeroline": False, **(ticks or {})},
        "yaxis": {"title": {"text": y, "standoff": 2}, "automargin": False, "zeroline": False},
        "legend": {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "font": {"size": 11}, "itemwidth": 30},
        "showlegend": legend,
        "hovermode": "closest",
        "uirevision": title,
    }


def _depth_line(one: Series, sites: Sequence[str], *, positive: bool) -> dict[str, Any]:
    values = np.asarray(one.values, float)
    names = list(sites) if len(sites) == len(values) else [f"site {at}" for at in range(len(values))]
    drawn = [value if value is not None and (value > 0 or not positive) else None for value in rounded(values)]
    style = ROLES[one.role]
    return {
        "type": "scatter",
        "name": one.name,
        "x": list(range(len(values))),
        "y": drawn,
        "text": names,
        "hovertemplate": "%{text}: %{y:.4g}<extra>%{fullData.name}</extra>",
        "connectgaps": False,
        **style,
    }


def _edge_marks(one: Series, sites: Sequence[str], low: float, high: float) -> list[dict[str, Any]]:
    """Marks for what a log axis cannot hold: exact zeros at the lower edge, non-finite values at the upper."""
    values = np.asarray(one.values, float)
    found = []
    for name, mask, edge, symbol in (
        ("exactly 0", values == 0, low, "triangle-down"),
        ("not finite", ~np.isfinite(values), high, "triangle-up"),
    ):
        places = np.flatnonzero(mask)
        if len(places):
            mark = _scatter(f"{name} ({one.name})", places, np.full(len(places), 10.0**edge), RED, mode="markers", symbol=symbol)
            mark["customdata"] = [name] * len(places)
            mark["text"] = [sites[at] if len(sites) == len(values) else str(at) for at in places.tolist()]
            mark["hovertemplate"] = "%{text}: %{customdata}<extra></extra>"
            mark["cliponaxis"] = False
            found.append(mark)
    return found


def _scatter(
    name: str, x: Any, y: Any, colour: str, *, mode: str = "lines", dash: str = "solid", symbol: str = "circle"
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": name,
        "x": np.asarray(x).tolist(),
        "y": rounded(y),
        "mode": mode,
        "line": {"color": colour, "width": 2, "dash": dash},
        "marker": {"color": colour, "symbol": symbol, "size": 9 if mode == "markers" else 6},
        "hovertemplate": "step %{x}: %{y:.4g}<extra>" + name + "</extra>",
    }


def _site_ticks(sites: Sequence[str]) -> dict[str, Any]:
    """At most six names of sites, the last one among them."""
    places = sorted({round(at) for at in np.linspace(0, max(len(sites) - 1, 0), min(5, max(len(sites), 1)))})
    return {
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [sites[at].partition(".")[0] for at in places if at < len(sites)],
    }


def _decade_ticks(low: float, high: float) -> dict[str, Any]:
    """Powers of ten, at most seven of them."""
    every = max(1, math.ceil((high - low) / 6))
    powers = range(math.ceil(low), math.floor(high) + 1, every)
    return {
        "tickmode": "array",
        "tickvals": [10.0**p for p in powers],
        "ticktext": [f"10<sup>{p}</sup>" if p else "1" for p in powers],
    }


def _colour_ticks(logs: np.ndarray) -> dict[str, Any]:
    if np.isnan(logs).all():
        return {}
    low, high = float(np.nanmin(logs)), float(np.nanmax(logs))
    if high - low < 1:
        return {"tickvals": [low, high], "ticktext": [f"{10**low:.2g}", f"{10**high:.2g}"]}
    every = max(1, math.ceil((high - low) / 6))
    powers = list(range(math.ceil(low), math.floor(high) + 1, every))
    return {"tickvals": powers, "ticktext": [f"10<sup>{p}</sup>" for p in powers]}


def _loss_top(loss: np.ndarray, chance: float | None) -> float:
    """The upper end of the loss axis: the largest loss, but not more than four times the larger of chance and the first."""
    finite = loss[np.isfinite(loss)]
    base = max(chance or 0.0, 1e-6)
    if not len(finite):
        return 1.3 * base
    return 1.08 * max(base * 1.2, min(float(finite.max()), 4 * max(base, float(finite[0]))))


def _line(*, x: float | None = None, y: float | None = None, dash: str = "solid") -> dict[str, Any]:
    line = {"color": GREY, "width": 1.5, "dash": dash}
    if x is not None:
        return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line}


def _note(text: str, *, size: int = 11, **place: Any) -> dict[str, Any]:
    return {"text": text, "showarrow": False, "font": {"size": size}, **place}
