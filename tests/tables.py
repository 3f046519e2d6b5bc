"""The numbers behind a figure, as a table."""

from typing import TYPE_CHECKING, Any

from components.charts.parts import Figure

if TYPE_CHECKING:
    import pandas as pd


def table_of(figure: Figure) -> "pd.DataFrame":
    """The numbers behind a figure, to four digits: one row per point, or the grid of a map (sites by steps)."""
    import pandas as pd

    traces = figure["data"]
    maps = [trace for trace in traces if trace["type"] == "heatmap"]  # a line drawn over them has no numbers of its own
    if maps:
        grid, *lost = (pd.DataFrame(one["customdata"], index=one["y"], columns=one["x"]) for one in maps)
        for cells in lost:
            grid = grid.where(cells.isna(), cells.astype(float))
        return grid
    rows: list[tuple[str, Any, Any, float]] = []
    for trace in traces:
        name, values = trace.get("meta", trace["name"]), trace.get("customdata", trace["y"])
        points = zip(trace["x"], trace.get("text", trace["x"]), values, trace["y"], strict=True)
        rows += [(name, x, place, float(value)) for x, place, value, y in points if y is not None]
    lines = list(dict.fromkeys(name for name, *_ in rows))
    rows.sort(key=lambda row: (lines.index(row[0]), row[1]))
    return pd.DataFrame([(name, place, value) for name, _, place, value in rows], columns=["line", "at", "value"])
