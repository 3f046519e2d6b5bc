"""Charts over depth: one value per site, several series to
compare. An empty input gives an empty figure that says why.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from components.charts.colour import GREY, SIGNAL, shades
from components.charts.parts import (
    Figure,
    decades_axis,
    edge_marks,
    finished,
    frame_of,
    level,
    marks,
    over_blocks,
    rounded,
    short,
    site_names,
    site_ticks,
)

# A role is a dash, a marker and a shade of the hue of what the chart is of, so that it can be read without colours.
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

    `start` is the first site that has a value: a branch has none at the input. `hue`: where it is not its chart's.
    """

    name: str
    values: np.ndarray
    role: str = "now"
    start: int = 0
    hue: str = ""


def look(role: str, hue: str) -> dict[str, Any]:
    """How a line of a role is drawn where its chart is of this hue."""
    style = ROLES[role]
    return {**style, "line": {**style["line"], "color": shades(hue)[SHADES[role]] if role in SHADES else GREY}}


def log_range(previous: tuple[float, float] | None, *arrays: np.ndarray) -> tuple[float, float]:
    """log10 bounds of a held axis: they cover all finite positive values, two decades at least, and never shrink."""
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
) -> Figure:
    """Values over depth on a log axis. Zeros and non-finite values are marks at the edges, never dropped."""
    low, high = range_ or log_range(None, *(s.values for s in series))
    traces: list[dict[str, Any]] = []
    for one in series:
        values = np.asarray(one.values, float)
        edges = edge_marks(one.name, values, sites, low, high, compared=compared(one, hue), start=one.start)
        traces += [_depth_line(one, sites, values > 0, hue), *edges]
    layout = frame_of(title, x=over_blocks(sites), y=unit, ticks=site_ticks(sites), hue=hue)
    layout["yaxis"] |= {"type": "log", "range": [low, high], **decades_axis(low, high)}
    return finished(traces, layout, "nothing measured yet")


def cosine_chart(*, sites: Sequence[str], series: Sequence[Series], title: str = "Sample cosine by depth") -> Figure:
    """Mean cosine between different samples over depth, with a guide at 1, where all of them are one direction.

    A site whose vectors are zero or not finite has none: it is
    marked at the lower edge. A series without any is left out.
    """
    measured = [one for one in series if np.isfinite(np.asarray(one.values, float)).any()]
    finite = [np.asarray(one.values)[np.isfinite(one.values)] for one in measured]
    low = min([-0.25, *(float(values.min()) - 0.1 for values in finite)])
    traces: list[dict[str, Any]] = []
    for one in measured:
        values = np.asarray(one.values, float)
        there = np.isfinite(values)
        traces.append(_depth_line(one, sites, there, SIGNAL))
        lost = np.flatnonzero(~there)
        traces += marks(
            "no direction", one.name, values, sites, lost, y=low, symbol="x", compared=compared(one, SIGNAL)
        )
    layout = frame_of(title, x=over_blocks(sites), y="cosine", ticks=site_ticks(sites), hue=SIGNAL)
    layout["yaxis"] |= {"range": [low, 1.08], "dtick": 0.25}
    layout["shapes"] = [level(y=1.0, dash="dot")]
    return finished(traces, layout, "nothing measured yet")


def _depth_line(one: Series, sites: Sequence[str], drawn: np.ndarray, hue: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": short(one.name),
        "meta": one.name,
        "x": list(range(len(one.values))),
        "y": [value if there else None for value, there in zip(rounded(one.values), drawn, strict=True)],
        "text": site_names(sites, len(one.values)),
        "hovertemplate": "%{text}: %{y:.4g}<extra>%{meta}</extra>",
        "connectgaps": False,
        **look(one.role, one.hue or hue),
    }


def compared(one: Series, hue: str) -> str:
    """The colour of marks that belong to a series which is only compared with."""
    return "" if one.role == "now" else str(look(one.role, one.hue or hue)["line"]["color"])
