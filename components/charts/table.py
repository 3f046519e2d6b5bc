"""The numbers behind a figure, as a table."""

from typing import TYPE_CHECKING, Any

from components.charts.parts import Figure

if TYPE_CHECKING:
    import pandas as pd


def table_of(figure: Figure) -> "pd.DataFrame":
    """The numbers behind a figure, to four digits: one row per point, or the grid of a map (sites by steps)."""
    import pandas as pd

    traces = figure["data"]
    if any(trace["type"] == "heatmap" for trace in traces):
        maps = [
            one for one in traces if one["type"] == "heatmap"
        ]  # what is drawn over them holds no numbers of its own
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
