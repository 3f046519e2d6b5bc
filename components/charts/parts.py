"""The parts of a figure: layout, lines, ticks, and rounding to what the browser needs.

A figure is a plain dict of plotly's schema (`plotly.graph_objects.Figure` accepts it). Building graph objects instead
would cost more than the rest of a page. The browser sets the colours of text and grid, from the theme.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from addnorm.player.charts import Figure
from components.charts.colour import GREY, RED
from models.spec.overrides import PARTS

POWERS = np.array([10.0**power for power in range(300)])
NARROW = 240  # pixels: the width of a legend in a third of a page
LEGEND_ROW = 17
TYPE_SIZE = 12  # plotly's own, for text without a size
NAME_LENGTH = 30
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")  # as large as the other type, which <sup> is not
SITE = re.compile(r"x0|b(?P<block>\d+)(\.(?P<kind>attn|ffn))?")


def rounded(values: np.ndarray | Sequence[float]) -> list[float | None]:
    """Four significant digits; None for what is not finite, which JSON lacks."""
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in np.asarray(values, float).tolist()]


def rounded_grid(cells: np.ndarray) -> list[list[float | None]]:
    """`rounded` for a whole grid at once: a map has up to twenty thousand cells."""
    there = np.isfinite(cells)
    values = np.where(there, cells, 0.0)
    power = np.floor(np.log10(np.where(values == 0, 1.0, np.abs(values)))).astype(int) - 3
    # Dividing by an exact power of ten gives the float nearest to the decimal, which JSON writes in four digits.
    up, down = (POWERS[np.clip(p, 0, len(POWERS) - 1)] for p in (-power, power))
    return listed(np.rint(values * up / down) / up * down, there)


def listed(cells: np.ndarray, there: np.ndarray) -> list[list[Any]]:
    """The cells as nested lists, None where `there` is false."""
    kept = cells.astype(object)
    kept[~there] = None
    return kept.tolist()


def short(name: str, length: int = NAME_LENGTH) -> str:
    """A name cut in the middle to fit the legend of a narrow chart; its end often is the step."""
    tail = length // 2 - 2
    return name if len(name) <= length else f"{name[: length - tail - 1].rstrip()}…{name[-tail:]}"


def finished(traces: list[dict[str, Any]], layout: dict[str, Any], empty: str) -> Figure:
    """The figure of all traces that have points, with room for their legend; `empty` says why there are none."""
    kept = [trace for trace in traces if len(trace["x"])]
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


def title_of(figure: Figure) -> str:
    """The title of a figure without its markup and its mark."""
    return re.sub(r"<[^>]*>", "", figure["layout"]["title"]["text"]).removeprefix("■ ")


def scatter(
    name: str, x: Any, y: Any, colour: str, *, mode: str = "lines", dash: str = "solid", symbol: str = "circle"
) -> dict[str, Any]:
    """A trace over steps: a line, markers, or both."""
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


def colour_bar(unit: str, logs: np.ndarray | None = None) -> dict[str, Any]:
    """A narrow colour bar; `logs`: log10 of the coloured values, for ticks at powers of ten."""
    bar = {"thickness": 10, "title": {"text": unit, "side": "top"}, "outlinewidth": 0}
    return bar if logs is None else bar | _colour_ticks(logs)


def lost_cells(
    name: str, cells: np.ndarray, lost: np.ndarray, place: dict[str, Any], hovertemplate: str
) -> dict[str, Any]:
    """A second heatmap over a map's `lost` cells: grey where they are 0, red where they are not finite."""
    return {
        "type": "heatmap",
        "name": name,
        **place,
        "z": listed(np.where(cells == 0, 0.0, 1.0), lost),
        "zmin": 0,
        "zmax": 1,
        "customdata": listed(np.select([cells == 0, np.isnan(cells), cells > 0], ["0", "nan", "inf"], "-inf"), lost),
        "hovertemplate": hovertemplate,
        "hoverongaps": False,
        "colorscale": [[0, GREY], [1, RED]],
        "showscale": False,
    }


def lost_note(*counts: str) -> dict[str, Any]:
    """The note over a map that counts its lost cells in words."""
    text = f"cells: {', '.join(counts)}"
    return note(text, x=1, xref="paper", xanchor="right", y=1, yref="paper", yanchor="bottom")


def site_word(site: str) -> str:
    """A site in words: x0 is "input", b03 "block 3", b03.attn "block 3, attention"; any other name is unchanged."""
    match = SITE.fullmatch(site)
    if match is None:
        return site
    block, kind = match["block"], match["kind"]
    return "input" if block is None else f"block {int(block)}{f', {PARTS[kind]}' if kind else ''}"


def site_names(sites: Sequence[str], count: int) -> list[str]:
    """The sites of a series in words, or numbered if there are not `count` of them: it is of a net of another depth."""
    return [site_word(site) for site in sites] if len(sites) == count else [f"site {at}" for at in range(count)]


def site_ticks(sites: Sequence[str], *, names: bool = False) -> dict[str, Any]:
    """At most six ticks, with both ends: "input" and block numbers, or the names of places that are not sites.

    A block's tick is at its last sublayer. `names`: the axis is categorical, over `site_names`.
    """
    ends = {_tick(site): at for at, site in enumerate(sites)}
    texts = list(ends)
    if texts and over_blocks(sites) and texts[-1] != "input":
        wanted = {str(round(at)) for at in np.linspace(0, int(texts[-1]), 5)}
        texts = [text for at, text in enumerate(texts) if at == 0 or text in wanted]
    else:
        texts = [texts[at] for at in evenly(len(texts), 5)]
    words = site_names(sites, len(sites))
    return {
        "tickmode": "array",
        "tickvals": [words[ends[text]] if names else ends[text] for text in texts],
        "ticktext": texts,
    }


def evenly(count: int, most: int) -> list[int]:
    """At most so many whole numbers from 0 to `count` - 1, evenly spaced, with both ends."""
    return sorted({round(at) for at in np.linspace(0, count - 1, min(most, count)).tolist()})


def over_blocks(sites: Sequence[str]) -> str:
    """The title of an axis over these sites: "block", or empty for places that are not sites."""
    return "block" if all(SITE.fullmatch(site) for site in sites) else ""


def _tick(site: str) -> str:
    """The label of a site's tick: its block's number, "input", or the name of a place that is not a site."""
    match = SITE.fullmatch(site)
    return site_word(site) if match is None or match["block"] is None else str(int(match["block"]))


def decades_axis(low: float, high: float) -> dict[str, Any]:
    """Ticks of a log axis, given log10 of its ends."""
    powers = _powers(low, high)
    return {"tickmode": "array", "tickvals": [10.0**p for p in powers], "ticktext": [_power(p) for p in powers]}


def _colour_ticks(logs: np.ndarray) -> dict[str, Any]:
    """Powers of ten, or both ends and the middle of less than one decade."""
    finite = logs[np.isfinite(logs)]
    if not len(finite):
        return {}
    low, high = float(finite.min()), float(finite.max())
    if high - low < 1:
        ends = sorted({round(low, 3), round((low + high) / 2, 3), round(high, 3)})
        return {"tickvals": ends, "ticktext": [f"{10**end:.2g}" for end in ends]}
    powers = _powers(low, high)
    return {"tickvals": powers, "ticktext": [_power(p) for p in powers]}


def _powers(low: float, high: float) -> list[int]:
    """At most seven evenly spaced exponents."""
    return list(range(math.ceil(low), math.floor(high) + 1, max(1, math.ceil((high - low) / 6))))


def level(*, x: float | None = None, y: float | None = None, dash: str = "solid") -> dict[str, Any]:
    """A guide over the whole height of the plot at x, or over its whole width at y."""
    style = {"color": GREY, "width": 1.5, "dash": dash}
    if x is not None:
        return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": style}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": style}


def note(text: str, *, size: int = TYPE_SIZE, **place: Any) -> dict[str, Any]:
    """Text without an arrow."""
    return {"text": text, "showarrow": False, "font": {"size": size}, **place}


def enlarged(figure: Figure, factor: float) -> Figure:
    """The figure with type, margins, lines and markers scaled by a factor, for a projector."""
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
    """A trace with wider lines and larger markers; markers of several sizes stay."""
    larger = dict(trace)
    for part, name in (("line", "width"), ("marker", "size")):
        size = trace.get(part, {}).get(name)
        if isinstance(size, int | float):
            larger[part] = {**trace[part], name: size * factor}
    return larger


def _name_marks_once(traces: list[dict[str, Any]]) -> None:
    """Leaves one legend entry for each kind of mark, however many series have it."""
    named: set[str] = set()
    for trace in traces:
        if group := trace.get("legendgroup"):
            trace["showlegend"] = group not in named
            named.add(group)


def _power(exponent: int) -> str:
    return "10" + str(exponent).translate(RAISED) if exponent else "1"


def _legend_rows(names: list[str]) -> int:
    """Rows of plotly's horizontal legend in a narrow chart, whose columns are as wide as the longest name."""
    widths = [44 + 6 * len(name) for name in names]
    if sum(widths) <= NARROW:
        return 1
    return math.ceil(len(names) / max(1, NARROW // max(widths)))
