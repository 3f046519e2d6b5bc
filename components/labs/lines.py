"""Lines over any axis, not only depth."""

from collections.abc import Mapping, Sequence

import numpy as np

from components.charts.depth import Series, depth_profile, linear_profile
from components.charts.parts import Figure

ROLES = ("now", "other", "formula")


def by_name(lines: Mapping[str, np.ndarray | Sequence[float]], roles: Sequence[str] = ROLES) -> list[Series]:
    """Named values as lines, each in the look of its role; as many roles as lines are used."""
    return [
        Series(name, np.asarray(values, float), role)
        for (name, values), role in zip(lines.items(), roles, strict=False)
    ]


def lines(
    title: str,
    *,
    over: str,
    at: Sequence[object],
    unit: str,
    hue: str,
    series: Sequence[Series],
    guides: Sequence[float] = (),
    log: bool = False,
) -> Figure:
    """Lines over an axis titled `over`, one value for each of `at`; guides need a linear axis."""
    sites = [str(one) for one in at]
    if log:
        return depth_profile(title=title, unit=unit, hue=hue, sites=sites, series=series, x=over)
    return linear_profile(title=title, unit=unit, hue=hue, sites=sites, series=series, guides=guides, x=over)
