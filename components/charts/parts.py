"""The parts that figures are made of: colours, layout, lines, ticks, and how a number is shortened for the browser.

A figure is a plain dict of plotly's schema (`plotly.graph_objects.Figure` accepts it): live pages make many, and
building graph objects would cost more than all the rest. Text and grid colours are set in the browser, from the theme.
"""

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from models.spec.overrides import PARTS

Figure = dict[str, Any]

MAX_POINTS = 300
POWERS = np.array([10.0**power for power in range(300)])
# Each at least 3:1 against the white and the dark page, and told apart by colour-blind readers.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#2f86d6", "#d4760a", "#1a9e77", "#b35fb0", "#80858f"
RED = "#d84a3a"
# What a colour means wherever one of these is drawn or named alone; the skip is the signal's way.
# Beside it stands a word, a dash or a marker. `.stage-curve` in stage.css and stack.js have them too.
SIGNAL, GRADIENT, NORM, WEIGHTS, LOSS = BLUE, PURPLE, ORANGE, GREEN, "#8c8415"
NARROW = 240  # pixels that a legend has in a third of a page
LEGEND_ROW = 17
TYPE_SIZE = 12  # of all text that has no size of its own
NAME_LENGTH = 30
SITE = re.compile(r"x0|b(?P<block>\d+)(\.(?P<kind>attn|ffn))?")


def decimate(values: np.ndarray, points: int = MAX_POINTS) -> np.ndarray:
    """Indices that keep a long line's shape: both ends, and
    the least and the greatest of every bucket. NaN is neither.
    """
    if len(values) <= points:
        return np.arange(len(values))
    edges = np.linspace(0, len(values), points // 2).astype(int)
    least, greatest = np.where(np.isnan(values), np.inf, values), np.where(np.isnan(values), -np.inf, values)
    kept = {0, len(values) - 1}
    for start, end in pairwise(edges):
        kept |= {start + int(least[start:end].argmin()), start + int(greatest[start:end].argmax())}
    return np.array(sorted(kept))


def rounded(values: np.ndarray | Sequence[float]) -> list[float | None]:
    """Four significant digits; None for what is not finite, which JSON lacks."""
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in np.asarray(values, float).tolist()]


def rounded_grid(cells: np.ndarray) -> list[list[float | None]]:
    """As `rounded`, for a grid at once: a map has up to twenty thousand cells, and it is drawn at every poll."""
    there = np.isfinite(cells)
    values = np.where(there, cells, 0.0)
    power = np.floor(np.log10(np.where(values == 0, 1.0, np.abs(values)))).astype(int) - 3
    # Dividing by an exact power of ten gives the nearest number to the decimal, which JSON writes in four digits.
    up, down = (POWERS[np.clip(p, 0, len(POWERS) - 1)] for p in (-power, power))
    return listed(np.rint(values * up / down) / up * down, there)


def listed(cells: np.ndarray, there: np.ndarray) -> list[list[Any]]:
    """The cells that are there, as nested lists with None for the others."""
    kept = cells.astype(object)
    kept[~there] = None
    return kept.tolist()


def short(name: str, length: int = NAME_LENGTH) -> str:
    """A name that fits the legend of a narrow chart: its middle gives way, because its end often is the step."""
    tail = length // 2 - 2
    return name if len(name) <= length else f"{name[: length - tail - 1].rstrip()}…{name[-tail:]}"


def finished(traces: list[dict[str, Any]], layout: dict[str, Any], empty: str, *, drawn: bool = True) -> Figure:
    """Traces that have points, in a layout that makes room for their legend; where there are none, `empty` says why."""
    kept = [trace for trace in traces if drawn and len(trace["x"])]
    if not kept:
        layout["annotations"] = [
            *layout.get("annotations", []),
            note(empty, x=0.5, xref="paper", y=0.5, yref="paper", size=14),
        ]
    _name_marks_once(kept)
    names = [trace["name"] for trace in kept if trace.get("showlegend", True)]
    if layout["showlegend"] and names:
        layout["margin"]["t"] = 30 + LEGEND_ROW * _legend_rows(names)
    return {"data": kept, "layout": layout}


def frame_of(title: str, *, x: str, y: str, ticks: dict[str, Any] | None = None, legend: bool = True) -> dict[str, Any]:
    """Compact, for a third of a page or a phone. The legend stands between title and plot."""
    return {
        "title": {
            "text": f"<b>{title}</b>",
            "font": {"size": 13},
            "x": 0,
            "xref": "container",
            "y": 0.99,
            "yanchor": "top",
        },
        "margin": {"l": 58, "r": 8, "t": 46 if legend else 30, "b": 36},
        "xaxis": {"title": {"text": x, "standoff": 4}, "automargin": False, "zeroline": False, **(ticks or {})},
        "yaxis": {"title": {"text": y, "standoff": 2}, "automargin": False, "zeroline": False},
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.0,
            "yanchor": "bottom",
            "font": {"size": 11},
            "itemwidth": 30,
            "traceorder": "normal",
        },
        "showlegend": legend,
        "hovermode": "closest",
        "uirevision": title,
    }


def scatter(
    name: str, x: Any, y: Any, colour: str, *, mode: str = "lines", dash: str = "solid", symbol: str = "circle"
) -> dict[str, Any]:
    """A line over steps, or marks on it."""
    return {
        "type": "scatter",
        "name": name,
        "x": np.asarray(x).tolist(),
        "y": rounded(y),
        "mode": mode,
        "line": {"color": colour, "width": 2, "dash": dash},
        "marker": {"color": colour, "symbol": symbol, "size": 9 if mode == "markers" else 6},
        "hovertemplate": "step %{x}: %{y:.4g}<extra>%{fullData.name}</extra>",
    }


def edge_marks(
    label: str, values: np.ndarray, sites: Sequence[str], low: float, high: float, *, compared: str = "", start: int = 0
) -> list[dict[str, Any]]:
    """Marks for what a log axis from 10**low to 10**high cannot
    hold: zeros at the lower edge, non-finite values at the upper.

    `compared` is the colour of a series that is only compared with:
    its marks are open and larger. Nothing stands before `start`.
    """
    values = np.asarray(values, float)
    there = np.arange(len(values)) >= start
    inside = 0.002 * (high - low)  # plotly drops a mark that rounding has pushed over the edge
    zeros, lost = np.flatnonzero(there & (values == 0)), np.flatnonzero(there & ~np.isfinite(values))
    return [
        *marks(
            "exactly 0",
            label,
            values,
            sites,
            zeros,
            y=10.0 ** (low + inside),
            symbol="triangle-down",
            compared=compared,
        ),
        *marks(
            "not finite", label, values, sites, lost, y=10.0 ** (high - inside), symbol="triangle-up", compared=compared
        ),
    ]


def marks(
    name: str,
    label: str,
    values: np.ndarray,
    sites: Sequence[str],
    places: np.ndarray,
    *,
    y: float,
    symbol: str,
    compared: str = "",
) -> list[dict[str, Any]]:
    """A trace of marks at one height over some places of a series, or none."""
    if not len(places):
        return []
    names = site_names(sites, len(values))
    trace = scatter(name, places, np.full(len(places), y), RED, mode="markers", symbol=symbol)
    if compared:
        trace["marker"] = {"color": compared, "symbol": f"{symbol}-open", "size": 14, "line": {"width": 2}}
    return [
        trace
        | {
            "meta": label,
            "customdata": [f"{values[at]:.4g}" for at in places],
            "text": [names[at] for at in places],
            "hovertemplate": "%{text}: %{customdata}<extra>%{meta}</extra>",
            "cliponaxis": False,
            "legendgroup": name,
        }
    ]


def site_word(site: str) -> str:
    """A site as people read it: "input" for x0, "block 3" for
    b03, "block 3, attention" for b03.attn; others as they are.
    """
    found = SITE.fullmatch(site)
    if found is None:
        return site
    block, kind = found["block"], found["kind"]
    return "input" if block is None else f"block {int(block)}{f', {PARTS[kind]}' if kind else ''}"


def site_names(sites: Sequence[str], count: int) -> list[str]:
    """The names of a series' places as people read them; a net of another depth has other sites, which are counted."""
    return [site_word(site) for site in sites] if len(sites) == count else [f"site {at}" for at in range(count)]


def site_ticks(sites: Sequence[str], *, names: bool = False) -> dict[str, Any]:
    """At most six ticks, the ends among them: block numbers, after "input"; what is no site keeps its name.

    They stand at positions, or with `names` at the names of `site_names`
    where the axis has those. A block's tick stands at its last sublayer.
    """
    ends = {_tick(site): at for at, site in enumerate(sites)}
    texts = list(ends)
    if texts and over_blocks(sites) and texts[-1] != "input":
        wanted = {str(round(at)) for at in np.linspace(0, int(texts[-1]), 5)}
        texts = [text for at, text in enumerate(texts) if at == 0 or text in wanted]
    else:
        texts = [texts[at] for at in sorted({round(at) for at in np.linspace(0, len(texts) - 1, min(5, len(texts)))})]
    words = site_names(sites, len(sites))
    return {
        "tickmode": "array",
        "tickvals": [words[ends[text]] if names else ends[text] for text in texts],
        "ticktext": texts,
    }


def over_blocks(sites: Sequence[str]) -> str:
    """The title of an axis over these sites: "block", or none where they are something else."""
    return "block" if all(SITE.fullmatch(site) for site in sites) else ""


def _tick(site: str) -> str:
    """What a tick says of a site: its block's number, "input", or the site itself where it is none."""
    found = SITE.fullmatch(site)
    return site_word(site) if found is None or found["block"] is None else str(int(found["block"]))


def decades_axis(low: float, high: float) -> dict[str, Any]:
    """Powers of ten, at most seven of them."""
    every = max(1, math.ceil((high - low) / 6))
    powers = range(math.ceil(low), math.floor(high) + 1, every)
    return {"tickmode": "array", "tickvals": [10.0**p for p in powers], "ticktext": [_power(p) for p in powers]}


def colour_ticks(logs: np.ndarray) -> dict[str, Any]:
    """Ticks for a colour bar over log10 values: powers of ten, or both ends and the middle within one decade."""
    finite = logs[np.isfinite(logs)]
    if not len(finite):
        return {}
    low, high = float(finite.min()), float(finite.max())
    if high - low < 1:
        ends = sorted({round(low, 3), round((low + high) / 2, 3), round(high, 3)})
        return {"tickvals": ends, "ticktext": [f"{10**end:.2g}" for end in ends]}
    every = max(1, math.ceil((high - low) / 6))
    powers = list(range(math.ceil(low), math.floor(high) + 1, every))
    return {"tickvals": powers, "ticktext": [_power(p) for p in powers]}


def level(*, x: float | None = None, y: float | None = None, dash: str = "solid") -> dict[str, Any]:
    """A guide over the whole height at x, or the whole width at y."""
    style = {"color": GREY, "width": 1.5, "dash": dash}
    if x is not None:
        return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": style}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": style}


def note(text: str, *, size: int = 11, **place: Any) -> dict[str, Any]:
    """Text without an arrow."""
    return {"text": text, "showarrow": False, "font": {"size": size}, **place}


def enlarged(figure: Figure, factor: float) -> Figure:
    """The same figure with type, margins, lines and marks so many times as large, for a reader far away."""
    layout = {**figure["layout"], "font": {"size": TYPE_SIZE * factor}}
    for part in ("title", "legend"):
        if part in layout:
            font = layout[part].get("font", {})
            layout[part] = {**layout[part], "font": {**font, "size": font.get("size", TYPE_SIZE) * factor}}
    layout["margin"] = {side: round(size * factor) for side, size in layout.get("margin", {}).items()}
    layout["annotations"] = [
        {**one, "font": {**one.get("font", {}), "size": one.get("font", {}).get("size", TYPE_SIZE) * factor}}
        for one in layout.get("annotations", [])
    ]
    return {**figure, "layout": layout, "data": [_thicker(trace, factor) for trace in figure["data"]]}


def _thicker(trace: dict[str, Any], factor: float) -> dict[str, Any]:
    """A trace with wider lines and larger marks; those of several sizes stay."""
    larger = dict(trace)
    for part, name in (("line", "width"), ("marker", "size")):
        size = trace.get(part, {}).get(name)
        if isinstance(size, int | float):
            larger[part] = {**trace[part], name: size * factor}
    return larger


def _name_marks_once(traces: list[dict[str, Any]]) -> None:
    """Leaves one entry in the legend for each kind of mark, whatever the number of series that have it."""
    named: set[str] = set()
    for trace in traces:
        if group := trace.get("legendgroup"):
            trace["showlegend"] = group not in named
            named.add(group)


def _power(exponent: int) -> str:
    return f"10<sup>{exponent}</sup>" if exponent else "1"


def _legend_rows(names: list[str]) -> int:
    """Rows that plotly's horizontal legend takes in a narrow chart: one, or columns as wide as the longest name."""
    widths = [44 + 6 * len(name) for name in names]
    if sum(widths) <= NARROW:
        return 1
    return math.ceil(len(names) / max(1, NARROW // max(widths)))
