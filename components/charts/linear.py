"""Charts over depth on a linear axis: shares, cosines, gains, and whatever may be zero or negative."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from addnorm.player.charts import frame_of
from components.charts.colour import SIGNAL
from components.charts.depth import Series, depth_line, marks
from components.charts.parts import Figure, finished, level, over_blocks, site_ticks

SHARE = (-0.03, 1.05)  # bounds of an axis of shares, a little beyond 0 and 1
LEAST_RANGE = 1e-6  # of an axis whose values are all the same


def linear_profile(
    *,
    title: str,
    unit: str,
    hue: str,
    sites: Sequence[str],
    series: Sequence[Series],
    bounds: tuple[float, float] | None = None,
    guides: Sequence[float] = (),
    lost: str = "no value",
    x: str | None = None,
) -> Figure:
    """Values over depth, with dotted guides; what is not finite is a mark at the lower edge, never dropped.

    Without `bounds` the axis covers all finite values and guides. `lost`: the name of those marks; `x`: the title of
    the x axis, for places that are not sites.
    """
    low, high = bounds or _bounds([np.asarray(one.values, float) for one in series], guides)
    traces: list[dict[str, Any]] = []
    for one in series:
        finite = np.isfinite(np.asarray(one.values, float))
        there = np.arange(len(finite)) >= one.start
        traces += [
            depth_line(one, sites, finite, hue),
            *marks(lost, one, sites, there & ~finite, hue, y=low, symbol="x"),
        ]
    layout = frame_of(title, x=over_blocks(sites) if x is None else x, y=unit, ticks=site_ticks(sites), hue=hue)
    layout["yaxis"] |= {"range": [low, high]}
    layout["shapes"] = [level(y=guide, dash="dot") for guide in guides]
    return finished(traces, layout, "nothing measured yet")


def cosine_chart(*, sites: Sequence[str], series: Sequence[Series], title: str = "Sample cosine by depth") -> Figure:
    """The mean cosine between samples over depth, with a guide at 1: there all of them have the same direction.

    A site whose vectors are zero or not finite is marked at the lower edge; a series without any cosine is left out.
    """
    finite = [np.asarray(one.values)[np.isfinite(one.values)] for one in series]
    measured = [one for one, values in zip(series, finite, strict=True) if len(values)]
    low = min([-0.25, *(float(values.min()) - 0.1 for values in finite if len(values))])
    figure = linear_profile(
        title=title,
        unit="cosine",
        hue=SIGNAL,
        sites=sites,
        series=measured,
        bounds=(low, 1.08),
        guides=[1.0],
        lost="no direction",
    )
    figure["layout"]["yaxis"]["dtick"] = 0.25
    return figure


def _bounds(values: list[np.ndarray], guides: Sequence[float]) -> tuple[float, float]:
    finite = np.concatenate([*(array[np.isfinite(array)] for array in values), np.asarray(guides, float)])
    if not len(finite):
        return SHARE
    low, high = float(finite.min()), float(finite.max())
    room = 0.06 * max(high - low, LEAST_RANGE, 0.01 * max(abs(low), abs(high)))
    return low - room, high + room
