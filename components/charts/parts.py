"""Parts of figures that the player lacks: places on an axis, shapes, notes, and numbers as JSON carries them."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from addnorm.player.declare import Figure, fixed_cells
from components.charts.colour import GREY
from models.spec.overrides import PARTS

POWERS = np.array([10.0**power for power in range(300)])
FONT_SIZE = 12  # plotly's default, in pixels
SITE = re.compile(r"x0|b(?P<block>\d+)(\.(?P<kind>attn|ffn))?")


def rounded(values: np.ndarray | Sequence[float]) -> list[float | None]:
    """Four significant digits of each value; None if it is not finite, because JSON has no such number."""
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in np.asarray(values, float).tolist()]


def numbers(values: np.ndarray | Sequence[float], measured: np.ndarray | None = None) -> list[Any]:
    """Four significant digits of an array of any shape, nested as it is.

    "nan", "inf" and "-inf" are strings; values that are not `measured` are None.
    """
    cells = np.asarray(values, float)
    is_finite = np.isfinite(cells)
    finite = np.where(is_finite, cells, 0.0)
    power = np.floor(np.log10(np.where(finite == 0, 1.0, np.abs(finite)))).astype(int) - 3
    # Dividing by an exact power of ten gives the float nearest to the decimal, which JSON writes in four digits.
    scale_up, scale_down = (POWERS[np.clip(exponent, 0, len(POWERS) - 1)] for exponent in (-power, power))
    entries = (np.rint(finite * scale_up / scale_down) / scale_up * scale_down).astype(object)
    entries[~is_finite] = cells[~is_finite].astype(str)
    if measured is not None:
        entries[~measured] = None
    return list(entries.tolist())


def fixed_map(
    trace: dict[str, Any], cells: np.ndarray, measured: np.ndarray | None = None, **options: bool
) -> dict[str, Any]:
    """A heatmap of cells (rows, columns), empty where they are not `measured`; `options` are those of `fixed_cells`."""
    return fixed_cells(trace, numbers(cells, measured), **options)


def title_of(figure: Figure) -> str:
    """The title of a figure without markup and without its coloured square."""
    return re.sub(r"<[^>]*>", "", figure["layout"]["title"]["text"]).removeprefix("■ ")


def site_word(site: str) -> str:
    """A site in words: x0 is "input", b03 "block 3", b03.attn "block 3, attention"; any other name is unchanged."""
    match = SITE.fullmatch(site)
    if match is None:
        return site
    block, kind = match["block"], match["kind"]
    return "input" if block is None else f"block {int(block)}{f', {PARTS[kind]}' if kind else ''}"


def places(sites: Sequence[str], max_ticks: int = 5) -> dict[str, Any]:
    """The places of an axis: names in words, and tick labels, of which the browser shows about `max_ticks`."""
    labels = [_label(site) for site in sites]
    return {"names": [site_word(site) for site in sites], "labels": labels, "max_ticks": max_ticks}


def depth_title(sites: Sequence[str]) -> str:
    """The title of an axis over these sites: "block", or empty for places that are not sites."""
    return "block" if all(SITE.fullmatch(site) for site in sites) else ""


def _label(site: str) -> str:
    """The label of a site's tick: its block's number, "input", or the name of a place that is not a site."""
    match = SITE.fullmatch(site)
    return site_word(site) if match is None or match["block"] is None else str(int(match["block"]))


def vertical_guide(x: float, dash: str = "solid") -> dict[str, Any]:
    style = {"color": GREY, "width": 1.5, "dash": dash}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": style}


def outlined(shape: dict[str, Any]) -> list[dict[str, Any]]:
    """A shape as a black line on a wider white one, visible on every colour in both themes."""
    return [shape | {"line": {"color": colour, "width": width}} for colour, width in (("#ffffff", 6), ("#111111", 3))]


def frame_around(x: float, y: float, rows: float = 1) -> list[dict[str, Any]]:
    """A frame around the cell at x and y, or around a column of `rows` cells that starts there."""
    return outlined({"type": "rect", "x0": x - 0.5, "x1": x + 0.5, "y0": y - 0.5, "y1": y - 0.5 + rows})


def annotation(text: str, **options: Any) -> dict[str, Any]:
    """Text without an arrow; `options` are plotly's."""
    return {"text": text, "showarrow": False, "font": {"size": FONT_SIZE}, **options}


def scaled_figure(figure: Figure, factor: float) -> Figure:
    """The figure with type, margins, lines and markers scaled by a factor, for a projector."""
    layout = figure["layout"]
    return {**figure, "layout": layout | {"bind": layout["bind"] | {"scale": factor}}}
