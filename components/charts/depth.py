"""Charts over depth on a log axis: one value per site, several series to compare. No data gives an empty figure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from addnorm.player.charts import frame_of
from components.charts.colour import GREY, RED, shades
from components.charts.parts import (
    Figure,
    decades_axis,
    finished,
    over_blocks,
    rounded,
    scatter,
    short,
    site_names,
    site_ticks,
)

# A role is a dash, a marker and a shade of the chart's hue, so that the chart can be read without its colours.
ROLES: dict[str, dict[str, Any]] = {
    "now": {"line": {"width": 3}, "marker": {"symbol": "circle", "size": 5}, "mode": "lines+markers"},
    "ghost": {"line": {"width": 2, "dash": "dot"}, "mode": "lines"},
    "pinned": {"line": {"width": 2, "dash": "dash"}, "mode": "lines"},
    "other": {
        "line": {"width": 2, "dash": "dash"},
        "marker": {"symbol": "square", "size": 5},
        "mode": "lines+markers",
    },
    "formula": {"line": {"width": 2, "dash": "dashdot"}, "mode": "lines"},
    "initial": {"line": {"width": 2, "dash": "longdash"}, "mode": "lines"},
}
SHADES = {"now": 0, "pinned": 1, "other": 1, "formula": 2, "initial": 2}  # of `shades`; a ghost is grey


@dataclass(frozen=True)
class Series:
    """A line over depth: its name in the legend, one value per site, and its role (a key of ROLES).

    `start`: the first site that has a value; a branch has none at the input. `hue`: if it is not that of the chart.
    """

    name: str
    values: np.ndarray
    role: str = "now"
    start: int = 0
    hue: str = ""


def look(role: str, hue: str) -> dict[str, Any]:
    """The style of a line of a role in a chart of this hue."""
    style = ROLES[role]
    return {**style, "line": {**style["line"], "color": shades(hue)[SHADES[role]] if role in SHADES else GREY}}


def log_range(previous: tuple[float, float] | None, *arrays: np.ndarray) -> tuple[float, float]:
    """The log10 bounds of an axis over all finite positive values: at least two decades, and never less than before."""
    values = np.concatenate([np.ravel(array) for array in arrays]).astype(float) if arrays else np.empty(0)
    values = values[np.isfinite(values) & (values > 0)]
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
    *,
    title: str,
    unit: str,
    hue: str,
    sites: Sequence[str],
    series: Sequence[Series],
    range_: tuple[float, float] | None = None,
    x: str | None = None,
) -> Figure:
    """Values over depth on a log axis. Zeros and non-finite values are marks at the edges, never dropped.

    `range_`: log10 of the ends of the axis; `x`: the title of the x axis, for places that are not sites.
    """
    low, high = range_ or log_range(None, *(one.values for one in series))
    inside = 0.002 * (high - low)  # plotly drops a mark that rounding has pushed over the edge
    traces: list[dict[str, Any]] = []
    for one in series:
        values = np.asarray(one.values, float)
        there = np.arange(len(values)) >= one.start
        zero, lost = there & (values == 0), there & ~np.isfinite(values)
        traces += [
            depth_line(one, sites, values > 0, hue),
            *marks("exactly 0", one, sites, zero, hue, y=10.0 ** (low + inside), symbol="triangle-down"),
            *marks("not finite", one, sites, lost, hue, y=10.0 ** (high - inside), symbol="triangle-up"),
        ]
    layout = frame_of(title, x=over_blocks(sites) if x is None else x, y=unit, ticks=site_ticks(sites), hue=hue)
    layout["yaxis"] |= {"type": "log", "range": [low, high], **decades_axis(low, high)}
    return finished(traces, layout, "nothing measured yet")


def over_depth(name: str, sites: Sequence[str], count: int, role: str, hue: str) -> dict[str, Any]:
    """A trace over `count` places of depth in the style of a role, without its values."""
    return {
        "type": "scatter",
        "name": short(name),
        "meta": name,
        "x": list(range(count)),
        "text": site_names(sites, count),
        "hovertemplate": "%{text}: %{y:.4g}<extra>%{meta}</extra>",
        "connectgaps": False,
        **look(role, hue),
    }


def depth_line(one: Series, sites: Sequence[str], drawn: np.ndarray, hue: str) -> dict[str, Any]:
    """The line of a series, with gaps where `drawn` is false."""
    y = [value if there else None for value, there in zip(rounded(one.values), drawn, strict=True)]
    return over_depth(one.name, sites, len(one.values), one.role, one.hue or hue) | {"y": y}


def marks(
    name: str, one: Series, sites: Sequence[str], there: np.ndarray, hue: str, *, y: float, symbol: str
) -> list[dict[str, Any]]:
    """A trace of marks at one height where `there` is true, or none; open and larger unless the role is "now"."""
    places = np.flatnonzero(there)
    if not len(places):
        return []
    names = site_names(sites, len(one.values))
    trace = scatter(name, places, np.full(len(places), y), RED, mode="markers", symbol=symbol)
    if one.role != "now":
        colour = look(one.role, one.hue or hue)["line"]["color"]
        trace["marker"] = {"color": colour, "symbol": f"{symbol}-open", "size": 14, "line": {"width": 2}}
    return [
        trace
        | {
            "meta": one.name,
            "customdata": [f"{one.values[at]:.4g}" for at in places],
            "text": [names[at] for at in places],
            "hovertemplate": "%{text}: %{customdata}<extra>%{meta}</extra>",
            "cliponaxis": False,
            "legendgroup": name,
        }
    ]
