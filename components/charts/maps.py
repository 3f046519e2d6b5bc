"""Charts of a map of runs: a panel for each arrangement, the widths of learning-rate ranges, coordinate checks."""

import math
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from addnorm.coordinate_check import Coordinates
from addnorm.player.declare import Figure, colour_bar, figure_of, layout_of
from components.charts.colour import CLASSES, GRADIENT, GREY, RED, SIGNAL
from components.charts.colour import LOSS as LOSS_HUE
from components.charts.parts import fixed_map, frame_around
from models.experiment import Plane
from models.insight.words import count_in_words, number, signed_number
from models.maps.cells import Cell, Outcome
from models.maps.sensitivity import RateRange
from models.maps.spec import MapSpec
from models.maps.table import MEASURES, by_cell, grid
from models.spec import knobs

HATCH_OFFSETS = (-0.25, 0.0, 0.25)  # distance of each stroke from the middle of a diverged cell, in cells
HATCH_REACH = 0.42  # half the width of the middle stroke, in cells


class LineStyle(NamedTuple):
    """The style of an arrangement's line; dash and symbol tell it apart without colour."""

    hue: str
    shade: int
    dash: str
    symbol: str


STYLES = (
    LineStyle(CLASSES[0], 0, "solid", "circle"),
    LineStyle(CLASSES[1], 0, "dash", "square"),
    LineStyle(CLASSES[2], 0, "dot", "diamond"),
    LineStyle(GREY, 0, "dashdot", "cross"),
    LineStyle(CLASSES[0], 1, "longdash", "triangle-up"),
    LineStyle(CLASSES[1], 2, "longdashdot", "x"),
)
RMS_TICKS = [digit * 10**power for power in range(-3, 4) for digit in (1, 2, 5)]
LOSS = "final loss"
LOSS_CEILING = 1.5  # times the loss of guessing: all runs above share one colour
HUES = {"gradient ratio": GRADIENT, "first non-finite step": GREY}  # of measures; LOSS_HUE for the others
Scale = tuple[float, float]  # the least and the greatest value


def shared_scale(spec: MapSpec, outcomes: Sequence[Outcome], measure: str, guessing: float) -> Scale:
    """The range of a measure over all panels, in log10 if its colours are.

    The range of a loss ends at LOSS_CEILING times `guessing`, so that one diverged cell does not use up all colours.
    """
    cells = np.concatenate(
        [_colour_values(grid(spec, outcomes, name, measure)[0], measure).ravel() for name in spec.arrangements]
    )
    finite = cells[np.isfinite(cells)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if measure == LOSS:
        high = min(high, math.log10(LOSS_CEILING * guessing))
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

    `chosen`: the cell with a frame, if it belongs to this arrangement.
    """
    definition = MEASURES[measure]
    layout = layout_of(arrangement, x=knobs()[spec.x.field][1].label, y=knobs()[spec.y.field][1].label, legend=False)
    layout["xaxis"] |= _ticks(spec.x.values)
    layout["yaxis"] |= _ticks(spec.y.values)
    cells = by_cell(spec, outcomes)
    if not any(key[0] == arrangement for key in cells):
        return figure_of([], layout, "not computed yet")
    values, divergence_steps = grid(spec, outcomes, arrangement, measure)
    texts = [
        [_hover_text(spec, cells.get((arrangement, x, y), []), x, y) for x in spec.x.values] for y in spec.y.values
    ]
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
        "colorbar": colour_bar(definition.unit),
    }
    if chosen is not None and chosen.arrangement == arrangement:
        layout["shapes"] = frame_around(spec.x.values.index(chosen.x), spec.y.values.index(chosen.y))
    heatmap = fixed_map(shade, values, log=definition.log, bare=True)
    return figure_of([heatmap, *_hatching(divergence_steps, values)], layout, "")


def widths_chart(spec: MapSpec, widths: Sequence[RateRange], other: str) -> Figure:
    """Decades of learning rate that reach the target, over the other axis: mean and range over the seeds."""
    layout = layout_of("Width of the range of learning rates", x=knobs()[other][1].label, y="decades")
    places = {value: place for place, value in enumerate(spec.y.values if spec.y.field == other else spec.x.values)}
    layout["xaxis"] |= _ticks(tuple(places)) | {"showgrid": True}
    layout["yaxis"] |= {"rangemode": "tozero"}
    traces = []
    for style, name in zip(STYLES, spec.arrangements, strict=False):
        points = [width for width in widths if width.arrangement == name]
        decades = [width.decades for width in points]
        means = [round(float(values.mean()), 4) for values in decades]
        line = _styled_line(style, name, [places[width.other] for width in points], means, size=8)
        error_bars = {
            "type": "data",
            "symmetric": False,
            "array": [round(float(values.max()) - float(values.mean()), 4) for values in decades],
            "arrayminus": [round(float(values.mean()) - float(values.min()), 4) for values in decades],
            "thickness": 1.2,
            "width": 4,
        }
        hover = {
            "text": [number(width.other, 6) for width in points],
            "hovertemplate": "%{text}: %{y:.3g} decades<extra>%{fullData.name}</extra>",
        }
        traces.append(line | {"error_y": error_bars} | hover)
    return figure_of(traces, layout, "no arrangement is done at all learning rates yet")


def rms_range(check: Coordinates) -> Scale:
    """The range of the RMS over all steps and sites, in log10."""
    sizes = [size for step in range(check.steps + 1) for site in check.sites for size in check.mean(step, site)]
    logs = [math.log10(size) for size in sizes if math.isfinite(size)]
    return (min(logs) - 0.05, max(logs) + 0.05) if logs else (-1.0, 1.0)


def rms_panel(check: Coordinates, step: int, scale: Scale) -> Figure:
    """The RMS at every site over width or depth after `step` updates, on log-log axes."""
    title = f"After {count_in_words(step, 'step')}" if step else "Before training"
    layout = layout_of(title, x=check.over, y="RMS", hue=SIGNAL)
    layout["xaxis"] |= _ticks(check.values) | {"showgrid": True}
    layout["yaxis"] |= {"type": "log", "range": list(scale), "tickmode": "array", "tickvals": RMS_TICKS}
    traces = []
    for style, site in zip(cycle(STYLES), check.sites, strict=False):
        finite = {place: size for place, size in enumerate(check.mean(step, site)) if math.isfinite(size)}
        line = _styled_line(style, site, list(finite), [float(f"{size:.4g}") for size in finite.values()], size=6)
        traces.append(line | {"hovertemplate": "%{y:.3g}<extra>%{fullData.name}</extra>"})
    return figure_of(traces, layout, "no size is finite")


def _styled_line(style: LineStyle, name: str, x: list[int], y: list[float], *, size: int) -> dict[str, Any]:
    """A line with markers of `size` pixels."""
    return {
        "type": "scatter",
        "name": name,
        "x": x,
        "y": y,
        "mode": "lines+markers",
        "hue": style.hue,
        "shade": style.shade,
        "line": {"width": 2, "dash": style.dash},
        "marker": {"symbol": style.symbol, "size": size},
    }


def _colour_values(values: np.ndarray, measure: str) -> np.ndarray:
    """The values on the colour scale: log10 of the positive ones if the measure is logarithmic."""
    if not MEASURES[measure].log:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values > 0, np.log10(values), np.nan)


def plane_figure(plane: Plane) -> Figure:
    """A plane of factors as colours, with 1 in the middle of the scale, and the line that crosses it."""
    layout = layout_of(plane.title, x=plane.x, y=plane.y, hue=GRADIENT)
    layout["xaxis"] |= _ticks(plane.xs)
    layout["yaxis"] |= _ticks(plane.ys)
    shade = {
        "name": plane.unit,
        "hue": GRADIENT,
        "showlegend": False,
        "hovertemplate": f"%{{text}}<extra>{plane.unit}</extra>",
        "text": [[number(cell) for cell in row] for row in plane.cells],
        "colorbar": colour_bar(f"log10 {plane.unit}"),
    }
    rows = np.interp(plane.edge, plane.ys, np.arange(len(plane.ys)), left=np.nan, right=np.nan)
    line = {
        "type": "scatter",
        "name": plane.edge_name,
        "x": [column for column, row in enumerate(rows) if math.isfinite(row)],
        "y": [round(float(row), 4) for row in rows if math.isfinite(row)],
        "mode": "lines+markers",
        "hue": GREY,
        "line": {"width": 3, "dash": "dash"},
        "marker": {"symbol": "circle", "size": 6},
    }
    return figure_of([fixed_map(shade, np.log10(plane.cells), log=False, signed=True, bare=True), line], layout, "")


def _ticks(values: Sequence[float]) -> dict[str, Any]:
    return {
        "tickmode": "array",
        "tickvals": list(range(len(values))),
        "ticktext": [number(value, 6) for value in values],
        "range": [-0.5, len(values) - 0.5],
        "showgrid": False,
        "ticks": "",
    }


def _hatching(divergence_steps: np.ndarray, values: np.ndarray) -> list[dict[str, Any]]:
    """Strokes through every cell that diverged, and the step in those without a colour."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for row, column in np.argwhere(np.isfinite(divergence_steps)).tolist():
        for offset in HATCH_OFFSETS:
            half = HATCH_REACH - abs(offset)
            xs += [column - half + offset, column + half + offset, None]
            ys += [row - half - offset, row + half - offset, None]
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
    colourless = np.argwhere(np.isfinite(divergence_steps) & ~np.isfinite(values))
    steps = {
        "type": "scatter",
        "name": "diverged at step",
        "x": colourless[:, 1].tolist(),
        "y": colourless[:, 0].tolist(),
        "mode": "text",
        "text": [f"<b>{divergence_steps[row, column]:.0f}</b>" for row, column in colourless.tolist()],
        "hoverinfo": "skip",
    }
    return [strokes, steps]


def _hover_text(spec: MapSpec, runs: Sequence[Outcome], x: float, y: float) -> str:
    """The settings of a cell and the outcomes of its runs, one for each seed."""
    lines = [f"{knobs()[spec.x.field][1].label} {number(x, 6)}, {knobs()[spec.y.field][1].label} {number(y, 6)}"]
    if not runs:
        return lines[0] + "<br>not computed yet"
    diverged = [run for run in runs if run.diverged is not None]
    finished = [run for run in runs if run.diverged is None]
    if diverged:
        earliest = min(diverged, key=lambda run: run.diverged or 0)
        seeds = f"({len(diverged)} of {len(runs)} seeds)"
        lines.append(f"diverged at step {earliest.diverged}, {earliest.site or 'loss'} {seeds}")
    if finished:
        lines.append("final loss " + _range([run.final_loss for run in finished], number))
        lines.append("held-out accuracy " + _range([run.accuracy for run in finished], "{:.0%}".format))
        reached = [run.steps_to_target for run in finished if run.steps_to_target is not None]
        steps = f"{_range(reached, str)} ({len(reached)} of {len(runs)} seeds)" if reached else "never"
        lines.append(f"steps to a loss of {spec.target:g}: {steps}")
    ratios = [run.gradient_ratio for run in runs if math.isfinite(run.gradient_ratio)]
    if ratios:
        lines.append("gradient ratio at initialisation " + _range(ratios, signed_number) + " decades")
    return "<br>".join(lines)


def _range(values: Sequence[float], to_text: Callable[[float], str]) -> str:
    low, high = to_text(min(values)), to_text(max(values))
    return low if low == high else f"{low} to {high}"
