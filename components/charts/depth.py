"""Charts over depth: one value per site, several series to compare. The browser makes their axes, ticks and marks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from addnorm.player.declare import Figure, figure_of, fixed_trace, layout_of
from components.charts.colour import SIGNAL
from components.charts.parts import numbers, over_blocks, places
from models.insight.baseline import label_of_guessing, loss_of_guessing

LOOKS = ("now", "other", "formula")  # of some lines, one after the other
SHARE = (-0.03, 1.05)  # bounds of an axis of shares, a little beyond 0 and 1


@dataclass(frozen=True)
class Series:
    """A line over depth: its name in the legend, one value per site, and its role (one of ROLES), which gives its look.

    `start`: the first site that has a value; a branch has none at the input. `hue`: if it is not that of the chart.
    """

    name: str
    values: np.ndarray
    role: str = "now"
    start: int = 0
    hue: str = ""


def guessing_level(task: str) -> list[dict[str, Any]]:
    """The loss of guessing as a level of a chart: its name and where it is."""
    return [{"name": label_of_guessing(task), "at": loss_of_guessing(task)}]


def by_name(lines: Mapping[str, np.ndarray | Sequence[float]], roles: Sequence[str] = LOOKS) -> list[Series]:
    """Named values as lines, each in the look of its role; as many roles as lines are used."""
    pairs = zip(lines.items(), roles, strict=False)
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
    **how: Any,
) -> Figure:
    """Values over depth, with dotted guides. On a log axis zeros and non-finite values are marked at its edges, on a
    linear one what is not finite.

    `x`: the title of the x axis, for places that are not sites. `how`: `zero`, the name of the marks on a log axis, if
    they stand for all values that are not above 0; `bounds` of a linear axis, which else covers all values and guides;
    `levels`: guides with a name.
    """
    lines = [fixed_line(one) for one in series]
    how |= {"axis": axis, "guides": list(guides)}
    return over_places(title, unit, hue, sites, lines, x=x, empty="nothing measured yet", **how)


linear_profile = partial(depth_profile, axis="linear")


def cosine_chart(*, sites: Sequence[str], series: Sequence[Series], title: str = "Sample cosine by depth") -> Figure:
    """The mean cosine between samples over depth; a series without any cosine is left out."""
    return cosines_over(sites, [fixed_line(one) for one in series], title, empty="nothing measured yet")


def cosines_over(sites: Sequence[str], lines: list[dict[str, Any]], title: str, *, empty: str = "") -> Figure:
    """Cosines over depth, with a guide at 1: there all vectors have the same direction.

    A site whose vectors are zero or not finite is marked at the lower edge.
    """
    figure = over_places(title, "cosine", SIGNAL, sites, lines, empty=empty, axis="cosine", guides=[1.0])
    figure["layout"]["yaxis"]["dtick"] = 0.25
    return figure


def over_places(
    title: str,
    unit: str,
    hue: str,
    sites: Iterable[object],
    lines: list[dict[str, Any]],
    *,
    x: str | None = None,
    empty: str = "",
    **how: Any,
) -> Figure:
    """Lines over the depth of a net, or over other places; `how`: as `figure_of` has it."""
    names = [str(one) for one in sites]
    layout = layout_of(title, x=over_blocks(names) if x is None else x, y=unit, hue=hue)
    return figure_of(lines, layout, empty, hue=hue, places=places(names), **how)


def fixed_line(one: Series, *, previous: bool = False) -> dict[str, Any]:
    """The line of a series; `previous`: of the net before, left out where it is far off the axes of the net shown."""
    own: Mapping[str, Any] = {"hue": one.hue} if one.hue else {}
    values = numbers(one.values, np.arange(len(one.values)) >= one.start)
    return fixed_trace({"name": one.name, "role": one.role, **own}, values, previous=previous)
