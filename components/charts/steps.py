"""Maps of every layer at every step, as colours. No data gives an empty figure."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from addnorm.player.charts import frame_of
from components.charts.colour import colour_scale
from components.charts.parts import (
    Figure,
    colour_bar,
    evenly,
    finished,
    level,
    listed,
    lost_cells,
    lost_note,
    over_blocks,
    rounded_grid,
    site_names,
    site_ticks,
)

MAP_STEPS = 150


def step_map(
    *,
    title: str,
    unit: str,
    hue: str,
    sites: Sequence[str],
    step: np.ndarray,
    values: np.ndarray,
    shown_step: int | None = None,
) -> Figure:
    """log10 of values (T, S) as colour over step and depth; zeros are grey, what is not finite is red."""
    layout = frame_of(title, x="step", y=over_blocks(sites), legend=False, hue=hue)
    layout["yaxis"] |= {"type": "category", "ticks": "", **site_ticks(sites, names=True)}
    layout["xaxis"] |= {"tickformat": "d", "ticks": ""} | ({"dtick": 1} if len(step) <= 6 else {})
    layout["shapes"] = _shown_line(shown_step) if shown_step is not None else []
    if len(step) == 0 or len(sites) == 0:
        return finished([], layout, "not trained yet")
    picked = evenly(len(step), MAP_STEPS)
    cells = np.asarray(values, float)[picked].T
    place = {"x": np.asarray(step)[picked].tolist(), "y": site_names(sites, len(sites))}
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(np.isfinite(cells) & (cells > 0), np.log10(cells), np.nan)
    trace = {
        "type": "heatmap",
        **place,
        "z": listed(np.round(logs, 3), np.isfinite(logs)),
        "customdata": rounded_grid(cells),
        "hovertemplate": "%{y}, step %{x}: %{customdata:.4g}<extra></extra>",
        "hoverongaps": False,
        "colorscale": colour_scale(hue),
        "colorbar": colour_bar(unit, logs),
        "showscale": bool(np.isfinite(logs).any()),
        "name": title,
    }
    return finished([trace, *_lost_cells(cells, place, layout)], layout, "")


def _shown_line(step: int) -> list[dict[str, Any]]:
    """A light line with dark edges, visible on every colour of a map."""
    dark, light = level(x=step), level(x=step)
    dark["line"] = {"color": "#111111", "width": 4}
    light["line"] = {"color": "#ffffff", "width": 2}
    return [dark, light]


def _lost_cells(cells: np.ndarray, place: dict[str, Any], layout: dict[str, Any]) -> list[dict[str, Any]]:
    """A second map of the cells that have no logarithm, and their count above it."""
    zero, lost = cells == 0, ~np.isfinite(cells)
    if not (zero | lost).any():
        return []
    kinds = ((zero, "exactly 0 (grey)"), (lost, "not finite (red)"))
    layout["annotations"] = [lost_note(*(f"{int(cells.sum())} {name}" for cells, name in kinds if cells.any()))]
    layout["margin"]["t"] = 44
    hover = "%{y}, step %{x}: %{customdata}<extra></extra>"
    return [lost_cells("zero or not finite", cells, zero | lost, place, hover)]
