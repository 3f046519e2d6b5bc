"""A row of a recording as a small picture (SVG) that any notebook shows: signal, gradient and loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from addnorm.player.colour import GRADIENT, LOSS, RED, SIGNAL
from addnorm.recording import Recording
from addnorm.words import shortened

WIDTH, HEIGHT = 300, 200  # of a chart
LEFT, RIGHT, TOP, BOTTOM = 52, 10, 26, 22  # margins of its plot
MAX_POINTS = 300
FEW_DECADES = 1.0  # of a log axis: it is never shorter


def picture(recording: Recording, at: int | None = None) -> str:
    """HTML with three charts of a row, by default the last, and its verdict."""
    at = len(recording) - 1 if at is None else at
    charts = [
        (title, hue, *_by_site(recording, name, at))
        for title, hue, name in (("Signal", SIGNAL, "act_rms"), ("Gradient", GRADIENT, "grad_rms"))
    ]
    charts.append(("Loss", LOSS, *_losses(recording, at)))
    drawn = "".join(
        f'<g transform="translate({place * WIDTH} 0)">{_chart(*chart)}</g>' for place, chart in enumerate(charts)
    )
    size = f'viewBox="0 0 {3 * WIDTH} {HEIGHT}" style="width: 100%; max-width: {3 * WIDTH}px"'
    caption = f"step {recording.steps[at]}: {shortened(recording.sentence('verdict', at), 300)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(caption)}" {size} '
        f'font-family="system-ui, sans-serif" font-size="11">{drawn}</svg><p>{escape(caption)}</p>'
    )


def _by_site(recording: Recording, name: str, at: int) -> tuple[list[float | None], tuple[str, str], bool]:
    names = [site.name for site in recording.sites] or [""]
    return recording.at(name, at), (names[0], names[-1]), True


def _losses(recording: Recording, at: int) -> tuple[list[float | None], tuple[str, str], bool]:
    """The losses up to a row, at most so many of them, evenly spaced."""
    rows = sorted({round(place * at / max(1, min(at, MAX_POINTS - 1))) for place in range(min(at + 1, MAX_POINTS))})
    values = [recording.at("loss", row)[0] for row in rows]
    return values, (f"step {recording.steps[0]}", f"step {recording.steps[at]}"), False


def _chart(title: str, hue: str, values: Sequence[float | None], ends: tuple[str, str], logs: bool) -> str:
    """One chart: a line through what is finite, and on the edge a red mark for what is not, a hollow one for zero."""
    finite = [value for value in values if value is not None and math.isfinite(value) and (value > 0 or not logs)]
    low, high = _bounds(finite, logs)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def x(at: int) -> float:
        return LEFT + (right - LEFT) * at / max(1, len(values) - 1)

    def y(value: float) -> float:
        level = math.log10(value) if logs else value
        return bottom - (bottom - TOP) * (level - low) / (high - low)

    parts = [_text(LEFT, 14, f'<tspan fill="{hue}">■</tspan> {escape(title)}', weight="bold")]
    parts += [
        _text(LEFT, HEIGHT - 6, escape(shortened(ends[0], 20))),
        _text(right, HEIGHT - 6, escape(shortened(ends[1], 20)), anchor="end"),
    ]
    for level in (low, high):
        edge = bottom if level == low else TOP
        label = f"{10**level if logs else level:.3g}" if finite else ""
        parts.append(f'<path d="M{LEFT} {edge}H{right}" stroke="currentColor" opacity="0.25"/>')
        parts.append(_text(LEFT - 4, edge + 4, label, anchor="end"))
    line, pen = [], "M"
    for at, value in enumerate(values):
        if value is None or not math.isfinite(value) or (logs and value <= 0):
            pen = "M"  # a gap
            if value is not None:
                height, fill = (bottom, "none") if value == 0 else (TOP, RED)
                parts.append(f'<circle cx="{x(at):.1f}" cy="{height}" r="4" fill="{fill}" stroke="{RED}"/>')
            continue
        line.append(f"{pen}{x(at):.1f} {y(value):.1f}")
        pen = "L"
    parts.append(f'<path d="{"".join(line)}" fill="none" stroke="{hue}" stroke-width="2"/>')
    if not finite:
        parts.append(_text((LEFT + right) / 2, HEIGHT / 2, "not measured", anchor="middle"))
    return "".join(parts)


def _bounds(finite: Sequence[float], logs: bool) -> tuple[float, float]:
    """The ends of an axis, in powers of ten where it is logarithmic."""
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    if not logs:
        return (low, high) if high > low else (low - 0.5, high + 0.5)
    low, high = math.log10(low), math.log10(high)
    missing = max(0.0, FEW_DECADES - (high - low)) / 2
    return low - missing, high + missing


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text {place} fill="currentColor">{text}</text>'
