"""Charts over depth on a linear axis: shares, gains, and whatever may be zero or negative. Data in, figure out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from components.charts.depth import Series, compared, look
from components.charts.parts import (
    Figure,
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

SHARE = (-0.03, 1.05)  # bounds of an axis of shares: both ends are seen
LEAST = 1e-6  # height of an axis whose values are all one


def linear_profile(
    *,
    title: str,
    unit: str,
    hue: str,
    sites: Sequence[str],
    series: Sequence[Series],
    bounds: tuple[float, float] | None = None,
    guides: Sequence[float] = (),
) -> Figure:
    """Values over depth, dotted guides at some heights; what is not finite is a mark at the lower edge, never dropped.

    A series that starts later (`start`) has nothing before.
    Without `bounds` the axis covers all finite values and guides.
    """
    low, high = bounds or _bounds([np.asarray(one.values, float) for one in series], guides)
    traces: list[dict[str, Any]] = []
    for one in series:
        values = np.asarray(one.values, float)
        there = np.isfinite(values)
        lost = np.flatnonzero(~there & (np.arange(len(values)) >= one.start))
        traces.append(_line(one, sites, values, hue))
        traces += marks("no value", one.name, values, sites, lost, y=low, symbol="x", compared=compared(one, hue))
    layout = frame_of(title, x=over_blocks(sites), y=unit, ticks=site_ticks(sites), hue=hue)
    layout["yaxis"] |= {"range": [low, high]}
    layout["shapes"] = [level(y=guide, dash="dot") for guide in guides]
    return finished(traces, layout, "nothing measured yet")


def _bounds(values: list[np.ndarray], guides: Sequence[float]) -> tuple[float, float]:
    finite = np.concatenate([*(array[np.isfinite(array)] for array in values), np.asarray(guides, float)])
    if not len(finite):
        return SHARE
    low, high = float(finite.min()), float(finite.max())
    room = 0.06 * max(high - low, LEAST, 0.01 * max(abs(low), abs(high)))
    return low - room, high + room


def _line(one: Series, sites: Sequence[str], values: np.ndarray, hue: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": short(one.name),
        "meta": one.name,
        "x": list(range(len(values))),
        "y": rounded(values),
        "text": site_names(sites, len(values)),
        "hovertemplate": "%{text}: %{y:.4g}<extra>%{meta}</extra>",
        "connectgaps": False,
        **look(one.role, one.hue or hue),
    }
