"""Charts over depth: several series with one value per site. The browser adds axes, ticks and marks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from addnorm.player.declare import Figure, figure_of, fixed_trace, layout_of
from components.charts.colour import SIGNAL
from components.charts.parts import depth_title, numbers, places
from models.insight.baseline import label_of_guessing, loss_of_guessing

DEFAULT_ROLES = ("now", "other", "formula")  # of the first, second and third line
SHARE_BOUNDS = (-0.03, 1.05)  # of an axis of shares, a little beyond 0 and 1
COSINE_TICK_SPACING = 0.25


@dataclass(frozen=True)
class Series:
    """A line over depth: its name in the legend, and one value per site.

    `role` selects the line's style in style.js. `start` is the first site with a value: a branch has none at the
    input. An empty `hue` stands for the hue of the chart.
    """

    name: str
    values: np.ndarray
    role: str = "now"
    start: int = 0
    hue: str = ""


def guessing_level(task: str) -> list[dict[str, Any]]:
    """Returns the loss of guessing as the only named level of a chart."""
    return [{"name": label_of_guessing(task), "at": loss_of_guessing(task)}]


def named_series(
    values_by_name: Mapping[str, np.ndarray | Sequence[float]], roles: Sequence[str] = DEFAULT_ROLES
) -> list[Series]:
    """Returns a series for each name, with the roles in order. Names beyond the last role are left out."""
    pairs = zip(values_by_name.items(), roles, strict=False)
    return [Series(name, np.asarray(values, float), role) for (name, values), role in pairs]


def depth_profile(
    *,
    title: str,
    unit: str,
    hue: str,
    sites: Iterable[object],
    series: Sequence[Series],
    axis: str = "log",
    x: str | None = None,
    guides: Sequence[float] = (),
    **options: Any,
) -> Figure:
    """Returns a chart of series over depth, with dotted guides.

    Marks at the edges stand for non-finite values, and for zeros on a log axis. `x` is the title of the x axis for
    places that are not sites. `options`: `zero` names the marks on a log axis if they stand for all values up to 0,
    `bounds` are those of a linear axis (by default of all values and guides), and `levels` are guides with a name.
    """
    return lines_over_places(
        title=title,
        unit=unit,
        hue=hue,
        sites=sites,
        lines=[fixed_line(line) for line in series],
        x=x,
        empty="nothing measured yet",
        axis=axis,
        guides=list(guides),
        **options,
    )


linear_profile = partial(depth_profile, axis="linear")


def cosine_chart(*, sites: Sequence[str], series: Sequence[Series], title: str = "Sample cosine by depth") -> Figure:
    """Returns a chart of the mean cosine between samples over depth. A series without any cosine is left out."""
    return cosine_figure(sites, [fixed_line(line) for line in series], title, empty="nothing measured yet")


def cosine_figure(sites: Sequence[str], lines: list[dict[str, Any]], title: str, *, empty: str = "") -> Figure:
    """Returns a chart of cosines over depth, with a guide at 1, where all vectors have the same direction.

    Marks at the lower edge stand for sites with zero or non-finite vectors. `empty` replaces a chart without values.
    """
    figure = lines_over_places(
        title=title,
        unit="cosine",
        hue=SIGNAL,
        sites=sites,
        lines=lines,
        empty=empty,
        axis="cosine",
        guides=[1.0],
    )
    figure["layout"]["yaxis"]["dtick"] = COSINE_TICK_SPACING
    return figure


def lines_over_places(
    *,
    title: str,
    unit: str,
    hue: str,
    sites: Iterable[object],
    lines: list[dict[str, Any]],
    x: str | None = None,
    empty: str = "",
    **options: Any,
) -> Figure:
    """Returns a chart of lines over the depth of a net, or over other places. `options` are those of `figure_of`."""
    names = [str(site) for site in sites]
    layout = layout_of(title, x=depth_title(names) if x is None else x, y=unit, hue=hue)
    return figure_of(lines, layout, empty, hue=hue, places=places(names), **options)


def fixed_line(series: Series) -> dict[str, Any]:
    """Returns the trace of a series."""
    trace = {"name": series.name, "role": series.role}
    if series.hue:
        trace["hue"] = series.hue
    values = numbers(series.values, np.arange(len(series.values)) >= series.start)
    return fixed_trace(trace, values)
