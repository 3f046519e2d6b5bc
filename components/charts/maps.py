"""Charts of a map of runs: a panel per arrangement, and the width of its range of learning rates."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from addnorm.coordinate_check import Coordinates
from addnorm.player.declare import Figure, colour_bar, figure_of, layout_of
from components.charts.colour import CLASSES, GRADIENT, GREY, RED, SIGNAL
from components.charts.colour import LOSS as LOSS_HUE
from components.charts.parts import fixed_map, frame_around
from models.experiment import Plane
from models.insight.words import counted, number, signed
from models.maps.cells import Cell, Outcome
from models.maps.sensitivity import Width
from models.maps.spec import MapSpec
from models.maps.table import MEASURES, by_cell, grid
from models.spec import knobs

HATCH = (-0.25, 0.0, 0.25)  # where the strokes of a hatched cell cross its middle
STYLES = (  # hue, shade, dash and symbol of an arrangement: the last two tell it apart without colour
    (CLASSES[0], 0, "solid", "circle"),
    (CLASSES[1], 0, "dash", "square"),
    (CLASSES[2], 0, "dot", "diamond"),
    (GREY, 0, "dashdot", "cross"),
    (CLASSES[0], 1, "longdash", "triangle-up"),
    (CLASSES[1], 2, "longdashdot", "x"),
)
SIZE_TICKS = [size * 10**power for power in range(-3, 4) for size in (1, 2, 5)]
LOSS = "final loss"
BEYOND = 1.5  # a multiple of the loss of guessing: all runs above it share one colour
HUES = {"gradient ratio": GRADIENT, "first non-finite step": GREY}  # of measures; the others have that of the loss
Scale = tuple[float, float]


def shared_scale(spec: MapSpec, outcomes: Sequence[Outcome], measure: str, guessing: float) -> Scale:
    """The least and the greatest value of a measure over all panels, log10 where the colours are.

    A loss ends at BEYOND times that of `guessing`, so that one lost cell does not take all colours for itself.
    """
    cells = np.concatenate(
        [_coloured(grid(spec, outcomes, name, measure)[0], measure).ravel() for name in spec.arrangements]
    )
    finite = cells[np.isfinite(cells)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if measure == LOSS:
        high = min(high, math.log10(BEYOND * guessing))
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def panel(
    spec: MapSpec,
    outcomes: Sequence[Outcome],
    arrangement: str,
    measure: str,
    scale: Scale,
    *,
    chosen: Cell | None = None,
) -> Figure:
    """The cells of one arrangement as colours: diverged cells are hatched and name the step, missing ones are empty.

    `chosen`: the cell that is framed, if it is one of them.
    """
    kind = MEASURES[measure]
    layout = layout_of(arrangement, x=knobs()[spec.x.field][1].label, y=knobs()[spec.y.field][1].label, legend=False)
    layout["xaxis"] |= _ticks(spec.x.values)
    layout["yaxis"] |= _ticks(spec.y.values)
    cells = by_cell(spec, outcomes)
    if not any(key[0] == arrangement for key in cells):
        return figure_of([], layout, "not computed yet")
    values, lost = grid(spec, outcomes, arrangement, measure)
    texts = [[_hover(spec, cells.get((arrangement, x, y), []), x, y) for x in spec.x.values] for y in spec.y.values]
    shade = {
        "name": arrangement,
        "hue": HUES.get(measure, LOSS_HUE),
        "text": texts,
        "hovertemplate": "%{text}<extra></extra>",
        "hoverongaps": True,
        "zmin": scale[0],
        "zmax": scale[1],
        "xgap": 1,
        "ygap": 1,
        "colorbar": colour_bar(kind.unit),
    }
    if chosen is not None and chosen.arrangement == arrangement:
        layout["shapes"] = frame_around(spec.x.values.index(chosen.x), spec.y.values.index(chosen.y))
    return figure_of([fixed_map(shade, values, log=kind.log, bare=True), *_hatched(lost, values)], layout, "")


def widths_chart(spec: MapSpec, widths: Sequence[Width], other: str) -> Figure:
    """Decades of learning rate that reach the target, over the other axis: mean and range over the seeds."""
    layout = layout_of("Width of the range of learning rates", x=knobs()[other][1].label, y="decades")
    places = {value: at for at, value in enumerate(spec.y.values if spec.y.field == other else spec.x.values)}
    layout["xaxis"] |= _ticks(tuple(places)) | {"showgrid": True}
    layout["yaxis"] |= {"rangemode": "tozero"}
    traces = []
    for (hue, shade, dash, symbol), name in zip(STYLES, spec.arrangements, strict=False):
        own = [width for width in widths if width.arrangement == name]
        ends = [(float(width.decades.min()), float(width.decades.max())) for width in own]
        means = [float(width.decades.mean()) for width in own]
        traces.append(
            {
                "type": "scatter",
                "name": name,
                "x": [places[width.other] for width in own],
                "text": [number(width.other, 6) for width in own],
                "y": [round(mean, 4) for mean in means],
                "mode": "lines+markers",
                "hue": hue,
                "shade": shade,
                "line": {"width": 2, "dash": dash},
                "marker": {"symbol": symbol, "size": 8},
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [round(most - mean, 4) for mean, (_, most) in zip(means, ends, strict=True)],
                    "arrayminus": [round(mean - least, 4) for mean, (least, _) in zip(means, ends, strict=True)],
                    "thickness": 1.2,
                    "width": 4,
                },
                "hovertemplate": "%{text}: %{y:.3g} decades<extra>%{fullData.name}</extra>",
            }
        )
    return figure_of(traces, layout, "no arrangement is done at all learning rates yet")


def sizes_range(check: Coordinates) -> Scale:
    """The least and the greatest size of all steps and sites, log10."""
    sizes = [size for step in range(check.steps + 1) for site in check.sites for size in check.mean(step, site)]
    logs = [math.log10(size) for size in sizes if math.isfinite(size)]
    return (min(logs) - 0.05, max(logs) + 0.05) if logs else (-1.0, 1.0)


def sizes_panel(check: Coordinates, step: int, reach: Scale) -> Figure:
    """The size of every site over the width (or depth) after so many updates, on log-log axes."""
    title = f"After {counted(step, 'step')}" if step else "Before training"
    layout = layout_of(title, x=check.over, y="RMS", hue=SIGNAL)
    layout["xaxis"] |= _ticks(check.values) | {"showgrid": True}
    layout["yaxis"] |= {"type": "log", "range": list(reach), "tickmode": "array", "tickvals": SIZE_TICKS}
    traces = []
    for at, site in enumerate(check.sites):
        hue, shade, dash, symbol = STYLES[at % len(STYLES)]
        sizes = check.mean(step, site)
        traces.append(
            {
                "type": "scatter",
                "name": site,
                "x": [place for place, size in enumerate(sizes) if math.isfinite(size)],
                "y": [float(f"{size:.4g}") for size in sizes if math.isfinite(size)],
                "mode": "lines+markers",
                "hue": hue,
                "shade": shade,
                "line": {"width": 2, "dash": dash},
                "marker": {"symbol": symbol, "size": 6},
                "hovertemplate": "%{y:.3g}<extra>%{fullData.name}</extra>",
            }
        )
    return figure_of(traces, layout, "no size is finite")


def _coloured(values: np.ndarray, measure: str) -> np.ndarray:
    """The values that the colours show: log10 of the positive ones where the measure is logarithmic."""
    if not MEASURES[measure].log:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values > 0, np.log10(values), np.nan)


def plane(shown: Plane) -> Figure:
    """A plane of factors in colours, 1 in the middle of the scale, with its line across."""
    layout = layout_of(shown.title, x=shown.x, y=shown.y, hue=GRADIENT)
    layout["xaxis"] |= _ticks(shown.xs)
    layout["yaxis"] |= _ticks(shown.ys)
    shade = {
        "name": shown.unit,
        "hue": GRADIENT,
        "showlegend": False,
        "hovertemplate": f"%{{text}}<extra>{shown.unit}</extra>",
        "text": [[number(cell) for cell in row] for row in shown.cells],
        "colorbar": colour_bar(f"log10 {shown.unit}"),
    }
    rows = np.interp(shown.edge, shown.ys, np.arange(len(shown.ys)), left=np.nan, right=np.nan)
    across = {
        "type": "scatter",
        "name": shown.edge_name,
        "x": [at for at, row in enumerate(rows) if math.isfinite(row)],
        "y": [round(float(row), 4) for row in rows if math.isfinite(row)],
        "mode": "lines+markers",
        "hue": GREY,
        "line": {"width": 3, "dash": "dash"},
        "marker": {"symbol": "circle", "size": 6},
    }
    return figure_of([fixed_map(shade, np.log10(shown.cells), log=False, signed=True, bare=True), across], layout, "")


def _ticks(values: Sequence[float]) -> dict[str, Any]:
    return {
        "tickmode": "array",
        "tickvals": list(range(len(values))),
        "ticktext": [number(value, 6) for value in values],
        "range": [-0.5, len(values) - 0.5],
        "showgrid": False,
        "ticks": "",
    }


def _hatched(lost: np.ndarray, values: np.ndarray) -> list[dict[str, Any]]:
    """Strokes through every cell that diverged, and the step in those that have no colour."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for row, column in np.argwhere(np.isfinite(lost)).tolist():
        for shift in HATCH:
            reach = 0.42 - abs(shift)
            xs += [column - reach + shift, column + reach + shift, None]
            ys += [row - reach - shift, row + reach - shift, None]
    if not xs:
        return []
    strokes = {
        "type": "scatter",
        "name": "diverged",
        "x": xs,
        "y": ys,
        "mode": "lines",
        "line": {"color": RED, "width": 1},
        "hoverinfo": "skip",
    }
    bare = np.argwhere(np.isfinite(lost) & ~np.isfinite(values))
    steps = {
        "type": "scatter",
        "name": "diverged at step",
        "x": bare[:, 1].tolist(),
        "y": bare[:, 0].tolist(),
        "mode": "text",
        "text": [f"<b>{lost[row, column]:.0f}</b>" for row, column in bare.tolist()],
        "hoverinfo": "skip",
    }
    return [strokes, steps]


def _hover(spec: MapSpec, runs: Sequence[Outcome], x: float, y: float) -> str:
    """The hover text of a cell."""
    lines = [f"{knobs()[spec.x.field][1].label} {number(x, 6)}, {knobs()[spec.y.field][1].label} {number(y, 6)}"]
    if not runs:
        return lines[0] + "<br>not computed yet"
    lost = [run for run in runs if run.diverged is not None]
    finished = [run for run in runs if run.diverged is None]
    if lost:
        first = min(lost, key=lambda run: run.diverged or 0)
        lines.append(f"diverged at step {first.diverged}, {first.site or 'loss'} ({len(lost)} of {len(runs)} seeds)")
    if finished:
        lines.append("final loss " + _range([run.final_loss for run in finished], number))
        lines.append("held-out accuracy " + _range([run.accuracy for run in finished], "{:.0%}".format))
        reached = [run.steps_to_target for run in finished if run.steps_to_target is not None]
        steps = f"{_range(reached, str)} ({len(reached)} of {len(runs)} seeds)" if reached else "never"
        lines.append(f"steps to a loss of {spec.target:g}: {steps}")
    ratios = [run.gradient_ratio for run in runs if math.isfinite(run.gradient_ratio)]
    if ratios:
        lines.append("gradient ratio at initialisation " + _range(ratios, signed) + " decades")
    return "<br>".join(lines)


def _range(values: Sequence[float], how: Callable[[float], str]) -> str:
    """One number, or the least to the greatest of several."""
    low, high = how(min(values)), how(max(values))
    return low if low == high else f"{low} to {high}"
