"""The parts of a figure beside the player's: places, notes, and numbers as the browser needs them."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from addnorm.player.declare import Figure, fixed_cells
from components.charts.colour import GREY
from models.spec.overrides import PARTS

POWERS = np.array([10.0**power for power in range(300)])
TYPE_SIZE = 12  # plotly's own, for text without a size
SITE = re.compile(r"x0|b(?P<block>\d+)(\.(?P<kind>attn|ffn))?")


def rounded(values: np.ndarray | Sequence[float]) -> list[float | None]:
    """Four significant digits; None for what is not finite, which JSON lacks."""
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in np.asarray(values, float).tolist()]


def numbers(values: np.ndarray | Sequence[float], measured: np.ndarray | None = None) -> list[Any]:
    """Four significant digits of an array of any shape; "nan", "inf", "-inf" in words; None where not `measured`."""
    cells = np.asarray(values, float)
    there = np.isfinite(cells)
    finite = np.where(there, cells, 0.0)
    power = np.floor(np.log10(np.where(finite == 0, 1.0, np.abs(finite)))).astype(int) - 3
    # Dividing by an exact power of ten gives the float nearest to the decimal, which JSON writes in four digits.
    up, down = (POWERS[np.clip(p, 0, len(POWERS) - 1)] for p in (-power, power))
    sent = (np.rint(finite * up / down) / up * down).astype(object)
    sent[~there] = cells[~there].astype(str)
    if measured is not None:
        sent[~measured] = None
    return list(sent.tolist())


def fixed_map(
    trace: dict[str, Any], cells: np.ndarray, measured: np.ndarray | None = None, **how: bool
) -> dict[str, Any]:
    """A heatmap of cells (rows, columns), None where they are not `measured`; `how`: as `fixed_cells` has it."""
    return fixed_cells(trace, numbers(cells, measured), **how)


def title_of(figure: Figure) -> str:
    """The title of a figure without its markup and its mark."""
    return re.sub(r"<[^>]*>", "", figure["layout"]["title"]["text"]).removeprefix("■ ")


def site_word(site: str) -> str:
    """A site in words: x0 is "input", b03 "block 3", b03.attn "block 3, attention"; any other name is unchanged."""
    match = SITE.fullmatch(site)
    if match is None:
        return site
    block, kind = match["block"], match["kind"]
    return "input" if block is None else f"block {int(block)}{f', {PARTS[kind]}' if kind else ''}"


def places(sites: Sequence[str], most: int = 5) -> dict[str, Any]:
    """The places of an axis in words, and the labels of which the browser shows `most`: block numbers for sites."""
    labels = [_label(site) for site in sites]
    blocks = bool(over_blocks(sites) and labels and labels[-1] != "input")
    return {"names": [site_word(site) for site in sites], "labels": labels, "blocks": blocks, "max_ticks": most}


def over_blocks(sites: Sequence[str]) -> str:
    """The title of an axis over these sites: "block", or empty for places that are not sites."""
    return "block" if all(SITE.fullmatch(site) for site in sites) else ""


def _label(site: str) -> str:
    """The label of a site's tick: its block's number, "input", or the name of a place that is not a site."""
    match = SITE.fullmatch(site)
    return site_word(site) if match is None or match["block"] is None else str(int(match["block"]))


def level(x: float, dash: str = "solid") -> dict[str, Any]:
    """A guide at x over the whole height of the plot."""
    style = {"color": GREY, "width": 1.5, "dash": dash}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": style}


def seen(shape: dict[str, Any]) -> list[dict[str, Any]]:
    """A shape in black on white, which is seen on every colour in both themes."""
    return [shape | {"line": {"color": colour, "width": width}} for colour, width in (("#ffffff", 6), ("#111111", 3))]


def frame_around(x: float, y: float, rows: float = 1) -> list[dict[str, Any]]:
    """A frame around the cell at x and y, or around so many in a column from y on."""
    return seen({"type": "rect", "x0": x - 0.5, "x1": x + 0.5, "y0": y - 0.5, "y1": y - 0.5 + rows})


def note(text: str, *, size: int = TYPE_SIZE, **place: Any) -> dict[str, Any]:
    """Text without an arrow."""
    return {"text": text, "showarrow": False, "font": {"size": size}, **place}


def enlarged(figure: Figure, factor: float) -> Figure:
    """The figure with type, margins, lines and markers scaled by a factor, for a projector."""
    layout = figure["layout"]
    return {**figure, "layout": layout | {"bind": layout["bind"] | {"scale": factor}}}
