"""The charts of layers and steps: numbers in, figure out, and the numbers behind a figure.

`depth_charts` holds those over depth, `step_charts` those over steps, `figures` what both are made of.
"""

from typing import TYPE_CHECKING, Any

from components.depth_charts import ROLES, Series, cosine_chart, depth_profile, log_range
from components.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
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
from components.step_charts import loss_chart, step_map

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "PURPLE",
    "RED",
    "ROLES",
    "Figure",
    "Series",
    "cosine_chart",
    "cross_at",
    "decades_axis",
    "decimate",
    "depth_profile",
    "edge_marks",
    "finished",
    "frame_of",
    "level",
    "log_range",
    "loss_chart",
    "rounded",
    "site_ticks",
    "step_map",
    "table_of",
]


def table_of(figure: Figure) -> "pd.DataFrame":
    """The numbers behind a figure, to four digits: one row per point, or the grid of a map (sites by steps)."""
    import pandas as pd

    traces = figure["data"]
    if any(trace["type"] == "heatmap" for trace in traces):
        maps = [one for one in traces if one["type"] == "heatmap"]  # what is drawn over them holds no numbers of its own
        grid, *lost = (pd.DataFrame(one["customdata"], index=one["y"], columns=one["x"]) for one in maps)
        for cells in lost:
            grid = grid.where(cells.isna(), cells.astype(float))
        return grid
    rows: list[tuple[str, Any, Any, float]] = []
    for trace in traces:
        name, values = trace.get("meta", trace["name"]), trace.get("customdata", trace["y"])
        marks = zip(trace["x"], trace.get("text", trace["x"]), values, trace["y"], strict=True)
        rows += [(name, x, at, float(value)) for x, at, value, y in marks if y is not None]
    order = {name: at for at, name in enumerate(dict.fromkeys(row[0] for row in rows))}
    rows.sort(key=lambda row: (order[row[0]], row[1]))
    return pd.DataFrame([(name, at, value) for name, _, at, value in rows], columns=["line", "at", "value"])
