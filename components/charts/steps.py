"""Charts over steps: the loss, and maps of every layer at every step. No data gives an empty figure."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from components.charts.colour import LOSS, RED, colour_scale
from components.charts.parts import (
    Figure,
    colour_bar,
    decimate,
    evenly,
    finished,
    frame_of,
    level,
    listed,
    lost_cells,
    lost_note,
    note,
    over_blocks,
    rounded,
    rounded_grid,
    scatter,
    site_names,
    site_ticks,
)
from models.trace import Divergence

MAP_STEPS = 150


def loss_chart(
    *,
    step: np.ndarray | Sequence[int],
    loss: np.ndarray | Sequence[float],
    shown_step: int | None = None,
    held_out_step: np.ndarray | Sequence[int] = (),
    held_out_loss: np.ndarray | Sequence[float] = (),
    chance: float | None = None,
    total_steps: int | None = None,
    divergence: Divergence | None = None,
) -> Figure:
    """The raw training loss, the held-out loss at the frames, and the loss of guessing (`chance`); nothing is smoothed.

    A cross at the upper edge marks every loss that is not finite, and the step of a divergence once it is reached.
    """
    step, loss = np.asarray(step), np.asarray(loss, float)
    top = _loss_top(loss, chance)
    layout = frame_of("Loss", x="step", y="cross-entropy", hue=LOSS)
    layout["xaxis"] |= {"range": [0, max(1, total_steps or len(step))]}
    layout["yaxis"] |= {"range": [0, top]}
    layout["shapes"], layout["annotations"] = [], []
    if chance is not None:
        layout["shapes"].append(level(y=chance, dash="dot"))
        layout["annotations"].append(note("chance", x=1, xref="paper", y=chance, xanchor="right", yanchor="bottom"))
    if not len(step):
        return finished([], layout, "not trained yet")
    if shown_step is not None:
        layout["shapes"].append(level(x=shown_step))
    largest = float(loss[np.isfinite(loss)].max(initial=0.0))
    if largest > top:
        layout["annotations"].append(
            note(f"up to {largest:.3g}", x=1, xref="paper", y=1, yref="paper", xanchor="right", yanchor="top")
        )
    traces = [
        _training_line(step, loss, top),
        scatter("held-out", held_out_step, held_out_loss, LOSS, mode="lines+markers", dash="dash", symbol="diamond"),
        _crosses(step, loss, top, divergence),
    ]
    return finished(traces, layout, "no finite loss")


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


def _training_line(step: np.ndarray, loss: np.ndarray, top: float) -> dict[str, Any]:
    """The finite losses; the largest leave the plot at the top, and the hover has their values."""
    finite = np.flatnonzero(np.isfinite(loss))
    kept = finite[decimate(loss[finite])]
    trace = scatter("training", step[kept], np.minimum(loss[kept], 1.5 * top), LOSS)
    return trace | {
        "customdata": rounded(loss[kept]),
        "hovertemplate": "step %{x}: %{customdata:.4g}<extra>training</extra>",
    }


def _crosses(step: np.ndarray, loss: np.ndarray, top: float, divergence: Divergence | None) -> dict[str, Any]:
    """A cross at each step whose loss is not finite, and at the divergence, whichever quantity diverged."""
    losses = dict(zip(step.tolist(), loss.tolist(), strict=True))
    lost = {k for k, value in losses.items() if not math.isfinite(value)}
    if divergence and divergence.step <= max(losses, default=-1):
        lost.add(divergence.step)
    marked = sorted(lost)
    crosses = scatter("diverged", marked, np.full(len(marked), top * 0.97), RED, mode="markers", symbol="x")
    return crosses | {
        "customdata": [f"{losses.get(k, math.nan):.4g}" for k in marked],
        "hovertemplate": "step %{x}: %{customdata}<extra>diverged</extra>",
    }


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


def _loss_top(loss: np.ndarray, chance: float | None) -> float:
    """The upper end of the loss axis: the largest loss, up to four times the larger of guessing and the first loss."""
    finite = loss[np.isfinite(loss)]
    base = max(chance or 0.0, 1e-6)
    if not len(finite):
        return 1.3 * base
    return 1.08 * max(base * 1.2, min(float(finite.max()), 4 * max(base, float(finite[0]))))
