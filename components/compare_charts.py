"""Charts of several columns on shared axes: the middle of each over its seeds as a line, the range as a band."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from components.depth_charts import log_range
from components.figures import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    Figure,
    cross_at,
    decades_axis,
    decimate,
    edge_marks,
    finished,
    frame_of,
    level,
    rounded,
    site_ticks,
)
from models.insight.bands import Band
from models.trace import Divergence

COLUMN_STYLES: tuple[dict[str, Any], ...] = (
    {"color": BLUE, "dash": "solid", "symbol": "circle"},
    {"color": ORANGE, "dash": "dash", "symbol": "square"},
    {"color": GREEN, "dash": "dot", "symbol": "diamond"},
    {"color": PURPLE, "dash": "dashdot", "symbol": "triangle-up"},
)


def compared_profiles(
    *,
    title: str,
    sites: Sequence[str],
    labels: Sequence[str],
    bands: Sequence[Band],
    against_first: bool = False,
    held: dict[str, tuple[float, float]] | None = None,
) -> Figure:
    """Profiles over depth of several columns; `against_first` divides by the first column. `held` keeps the axis."""
    if against_first:
        bands = [_against(band, bands[0], np.divide) for band in bands]
    key = f"{title}{against_first}"
    previous = held.get(key) if held is not None else None
    low, high = log_range(previous, *(part for band in bands for part in (band.mid, band.low, band.high)))
    if held is not None:
        held[key] = (low, high)
    traces: list[dict[str, Any]] = []
    for at, (label, band) in enumerate(zip(labels, bands, strict=True)):
        x = np.arange(len(band.mid))
        traces += _lines(at, label, x, band, positive=True)
        traces += edge_marks(label, band.mid, sites, low, high)
    layout = frame_of(title, x="depth", y="RMS, ratio to A" if against_first else "RMS", ticks=site_ticks(sites))
    layout["yaxis"] |= {"type": "log", "range": [low, high], **decades_axis(low, high)}
    return finished(traces, layout, "nothing measured yet")


def compared_losses(
    *,
    steps: int,
    labels: Sequence[str],
    bands: Sequence[Band],
    divergences: Sequence[Divergence | None],
    chance: float,
    shown_step: int,
    against_first: bool = False,
) -> Figure:
    """Training losses of several columns, unsmoothed; `against_first` subtracts the first column's."""
    top = 1.6 * chance
    traces: list[dict[str, Any]] = []
    for at, (label, band, divergence) in enumerate(zip(labels, bands, divergences, strict=True)):
        drawn = _against(band, bands[0], np.subtract) if against_first else band
        kept = decimate(drawn.mid)
        thin = replace(drawn, mid=drawn.mid[kept], low=drawn.low[kept], high=drawn.high[kept])
        traces += _lines(at, label, kept, thin, positive=False, markers=False)
        if divergence is not None and len(band.mid) > divergence.step:
            traces.append(cross_at(divergence.step, top * 0.97, f"{label[:1]} diverged", COLUMN_STYLES[at]["color"]))
    layout = frame_of("Loss", x="step", y="loss minus A's" if against_first else "cross-entropy")
    layout["xaxis"] |= {"range": [0, steps]}
    layout["yaxis"] |= {"range": [-top, top] if against_first else [0, top]}
    layout["shapes"] = [level(x=shown_step), level(y=0.0 if against_first else chance, dash="dot")]
    return finished(traces, layout, "not trained yet", drawn=any(len(band.mid) for band in bands))


def _against(band: Band, first: Band, operation: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Band:
    """A column's band divided by the middle of the first, or minus it, as far as both go."""
    length = min(len(band.mid), len(first.mid))
    with np.errstate(divide="ignore", invalid="ignore"):
        mid, low, high = (operation(part[:length], first.mid[:length]) for part in (band.mid, band.low, band.high))
    return replace(band, mid=mid, low=low, high=high)


def _lines(at: int, label: str, x: np.ndarray, band: Band, *, positive: bool, markers: bool = True) -> list[dict[str, Any]]:
    """A column's line, with its band where the seeds differ."""
    style = COLUMN_STYLES[at]

    def shown(values: np.ndarray) -> list[float | None]:
        return [v if v is not None and (v > 0 or not positive) else None for v in rounded(values)]

    line = {
        "type": "scatter",
        "name": label,
        "x": x.tolist(),
        "y": shown(band.mid),
        "mode": "lines+markers" if markers else "lines",
        "line": {"color": style["color"], "dash": style["dash"], "width": 2},
        "marker": {"symbol": style["symbol"], "size": 4, "color": style["color"]},
        "hovertemplate": "%{x}: %{y:.4g}<extra>" + label + "</extra>",
    }
    if np.array_equal(band.low, band.high, equal_nan=True):
        return [line]
    edge = {"type": "scatter", "x": x.tolist(), "mode": "lines", "line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
    lower = {**edge, "name": f"{label}, lowest seed", "y": shown(band.low)}
    upper = {
        **edge,
        "name": f"{label}, highest seed",
        "y": shown(band.high),
        "fill": "tonexty",
        "fillcolor": f"{style['color']}33",
    }
    return [lower, upper, line]
