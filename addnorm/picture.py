"""Draws a row of a recording as a small SVG for any notebook: charts of signal, gradient and loss."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from addnorm.player.colour import GRADIENT, LOSS, RED, SIGNAL
from addnorm.recording import Recording
from addnorm.words import truncate

# Size of a chart, in pixels
WIDTH = 300
HEIGHT = 200
# Edges of its plot, in pixels
LEFT = 52
RIGHT = WIDTH - 10
TOP = 26
BOTTOM = HEIGHT - 22

MAX_POINTS = 300  # on the line of losses
MIN_DECADES = 1.0  # length of a logarithmic axis
MIN_RANGE = 1e-300  # of a linear axis
MAX_DECADE = 308.25  # of a float
MAX_FLOAT = sys.float_info.max
LABEL_GAP = 4  # pixels between an axis and its labels, and from their baseline to the tick
MARK_RADIUS = 4  # pixels


@dataclass(frozen=True)
class LineChart:
    """A line chart of `values` at even distances, None for those not measured.

    `hue` is an HTML colour; `first` and `last` label the ends of the horizontal axis.
    """

    title: str
    hue: str
    values: list[float | None]
    first: str
    last: str
    is_log: bool = False

    def is_drawable(self, value: float) -> bool:
        return math.isfinite(value) and (value > 0 or not self.is_log)

    def range(self) -> tuple[float, float] | None:
        """The ends of the vertical axis, in decades if it is logarithmic; None without a value to draw."""
        values = [value for value in self.values if value is not None and self.is_drawable(value)]
        if not values:
            return None
        low, high = min(values), max(values)
        if not self.is_log:
            margin = 0.0 if high - low > MIN_RANGE else max(0.5, abs(low) * 1e-9)
            return max(low - margin, -MAX_FLOAT), min(high + margin, MAX_FLOAT)
        low, high = math.log10(low), math.log10(high)
        padding = max(0.0, MIN_DECADES - (high - low)) / 2
        return low - padding, min(high + padding, MAX_DECADE)


def picture(recording: Recording, row: int | None = None) -> str:
    """HTML with three charts of a row and its verdict, by default of the last row."""
    if row is None:
        row = len(recording) - 1
    charts = (
        _site_chart("Signal", SIGNAL, recording, "act_rms", row),
        _site_chart("Gradient", GRADIENT, recording, "grad_rms", row),
        _loss_chart(recording, row),
    )
    groups = "".join(
        f'<g transform="translate({index * WIDTH} 0)">{_draw(chart)}</g>' for index, chart in enumerate(charts)
    )
    size = f'viewBox="0 0 {3 * WIDTH} {HEIGHT}" style="width: 100%; max-width: {3 * WIDTH}px"'
    caption = escape(f"step {recording.steps[row]}: {truncate(recording.sentence('verdict', row), 300)}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{caption}" {size} '
        f'font-family="system-ui, sans-serif" font-size="11">{groups}</svg><p>{caption}</p>'
    )


def _site_chart(title: str, hue: str, recording: Recording, series: str, row: int) -> LineChart:
    """A chart of a series over the sites, such as "act_rms"."""
    names = [site.name for site in recording.sites] or [""]
    return LineChart(title, hue, recording.values_at(series, row), names[0], names[-1], is_log=True)


def _loss_chart(recording: Recording, row: int) -> LineChart:
    """A chart of the losses up to a row, at most MAX_POINTS of them, evenly spaced."""
    intervals = min(row, MAX_POINTS - 1)
    rows = sorted({round(point * row / max(1, intervals)) for point in range(intervals + 1)})
    losses = [recording.values_at("loss", index)[0] for index in rows]
    return LineChart("Loss", LOSS, losses, f"step {recording.steps[0]}", f"step {recording.steps[row]}")


def _draw(chart: LineChart) -> str:
    """Draws a line through the drawable values. Returns the elements of the chart as SVG.

    On a logarithmic axis a hollow mark at the bottom stands for zero; a red mark at the top, for a non-finite value.
    """
    value_range = chart.range()
    low, high = value_range or (0.0, 1.0)

    def x(index: int) -> float:
        return LEFT + (RIGHT - LEFT) * index / max(1, len(chart.values) - 1)

    def y(value: float) -> float:
        level = math.log10(value) if chart.is_log else value
        return BOTTOM - (BOTTOM - TOP) * ((level / 2 - low / 2) / (high / 2 - low / 2))  # of halves, none overflows

    parts = [*_labels(chart)]
    for level, edge in ((low, BOTTOM), (high, TOP)):
        end_value = 10**level if chart.is_log else level
        label = f"{end_value:.3g}" if value_range else ""
        parts.append(f'<path d="M{LEFT} {edge}H{RIGHT}" stroke="currentColor" opacity="0.25"/>')
        parts.append(_text(LEFT - LABEL_GAP, edge + LABEL_GAP, label, anchor="end"))
    line = []
    command = "M"
    for index, value in enumerate(chart.values):
        if value is not None and chart.is_drawable(value):
            line.append(f"{command}{x(index):.1f} {y(value):.1f}")
            command = "L"
            continue
        command = "M"  # after a gap
        if value is not None:
            edge = BOTTOM if value == 0 else TOP
            fill = "none" if value == 0 else RED
            circle = f'<circle cx="{x(index):.1f}" cy="{edge}" r="{MARK_RADIUS}" fill="{fill}" stroke="{RED}"/>'
            parts.append(circle)
    parts.append(f'<path d="{"".join(line)}" fill="none" stroke="{chart.hue}" stroke-width="2"/>')
    if not value_range:
        parts.append(_text((LEFT + RIGHT) / 2, HEIGHT / 2, "not measured", anchor="middle"))
    return "".join(parts)


def _labels(chart: LineChart) -> Iterator[str]:
    yield _text(LEFT, 14, f'<tspan fill="{chart.hue}">■</tspan> {escape(chart.title)}', weight="bold")
    yield _text(LEFT, HEIGHT - 6, escape(truncate(chart.first, 20)))
    yield _text(RIGHT, HEIGHT - 6, escape(truncate(chart.last, 20)), anchor="end")


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    attributes = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text {attributes} fill="currentColor">{text}</text>'
