"""A row of a recording as a small picture (SVG) for any notebook: signal, gradient and loss."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from addnorm.player.colour import GRADIENT, LOSS, RED, SIGNAL
from addnorm.recording import Recording
from addnorm.words import truncate

WIDTH, HEIGHT = 300, 200  # of a chart, in pixels
LEFT, RIGHT, TOP, BOTTOM = 52, WIDTH - 10, 26, HEIGHT - 22  # edges of its plot
MAX_POINTS = 300
MIN_DECADES = 1.0  # of a logarithmic axis


@dataclass(frozen=True)
class LineChart:
    """A line chart. `first` and `last` label the ends of its horizontal axis."""

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
            return (low, high) if high > low else (low - 0.5, high + 0.5)
        low, high = math.log10(low), math.log10(high)
        missing = max(0.0, MIN_DECADES - (high - low)) / 2
        return low - missing, high + missing


def picture(recording: Recording, row: int | None = None) -> str:
    """HTML with three charts of a row, by default the last, and its verdict."""
    if row is None:
        row = len(recording) - 1
    charts = (
        _site_chart("Signal", SIGNAL, recording, "act_rms", row),
        _site_chart("Gradient", GRADIENT, recording, "grad_rms", row),
        _loss_chart(recording, row),
    )
    groups = "".join(f'<g transform="translate({k * WIDTH} 0)">{_draw(chart)}</g>' for k, chart in enumerate(charts))
    size = f'viewBox="0 0 {3 * WIDTH} {HEIGHT}" style="width: 100%; max-width: {3 * WIDTH}px"'
    caption = escape(f"step {recording.steps[row]}: {truncate(recording.sentence('verdict', row), 300)}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{caption}" {size} '
        f'font-family="system-ui, sans-serif" font-size="11">{groups}</svg><p>{caption}</p>'
    )


def _site_chart(title: str, hue: str, recording: Recording, name: str, row: int) -> LineChart:
    names = [site.name for site in recording.sites] or [""]
    return LineChart(title, hue, recording.values_at(name, row), names[0], names[-1], is_log=True)


def _loss_chart(recording: Recording, row: int) -> LineChart:
    """The losses up to a row, at most MAX_POINTS of them, evenly spaced."""
    spaces = min(row, MAX_POINTS - 1)
    rows = sorted({round(point * row / max(1, spaces)) for point in range(spaces + 1)})
    losses = [recording.values_at("loss", index)[0] for index in rows]
    return LineChart("Loss", LOSS, losses, f"step {recording.steps[0]}", f"step {recording.steps[row]}")


def _draw(chart: LineChart) -> str:
    """A line through the drawable values. A red mark on the edge stands for a non-finite one, a hollow one for zero."""
    axis = chart.range()
    low, high = axis or (0.0, 1.0)

    def x(index: int) -> float:
        return LEFT + (RIGHT - LEFT) * index / max(1, len(chart.values) - 1)

    def y(value: float) -> float:
        level = math.log10(value) if chart.is_log else value
        return BOTTOM - (BOTTOM - TOP) * (level - low) / (high - low)

    parts = [*_labels(chart)]
    for level, edge in ((low, BOTTOM), (high, TOP)):
        label = f"{10**level if chart.is_log else level:.3g}" if axis else ""
        parts.append(f'<path d="M{LEFT} {edge}H{RIGHT}" stroke="currentColor" opacity="0.25"/>')
        parts.append(_text(LEFT - 4, edge + 4, label, anchor="end"))
    line = []
    command = "M"
    for index, value in enumerate(chart.values):
        if value is not None and chart.is_drawable(value):
            line.append(f"{command}{x(index):.1f} {y(value):.1f}")
            command = "L"
            continue
        command = "M"  # after a gap
        if value is not None:
            height, fill = (BOTTOM, "none") if value == 0 else (TOP, RED)
            parts.append(f'<circle cx="{x(index):.1f}" cy="{height}" r="4" fill="{fill}" stroke="{RED}"/>')
    parts.append(f'<path d="{"".join(line)}" fill="none" stroke="{chart.hue}" stroke-width="2"/>')
    if not axis:
        parts.append(_text((LEFT + RIGHT) / 2, HEIGHT / 2, "not measured", anchor="middle"))
    return "".join(parts)


def _labels(chart: LineChart) -> Iterator[str]:
    yield _text(LEFT, 14, f'<tspan fill="{chart.hue}">■</tspan> {escape(chart.title)}', weight="bold")
    yield _text(LEFT, HEIGHT - 6, escape(truncate(chart.first, 20)))
    yield _text(RIGHT, HEIGHT - 6, escape(truncate(chart.last, 20)), anchor="end")


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    attributes = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text {attributes} fill="currentColor">{text}</text>'
