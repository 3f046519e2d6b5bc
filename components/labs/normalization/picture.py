"""Before and after a norm: the cells that share statistics in one row, on a band from the norm's own numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import NORM, SIGNAL
from components.charts.parts import numbers, vertical_guide
from components.controls import number_table as table
from components.labs.normalization.table import letter
from components.labs.parts import draw_charts
from models.labs.normalization import CELL, FEATURE, METHODS, TOKEN, NormedTable

KEY = "normalization"
MAX_DRAWN_SETS = 12  # that are drawn; the tables have all
MAX_NUMBERED_CELLS = 12  # of a set
SET_PIXELS, FRAME_PIXELS = 30, 84  # the height of a set, and of title and axis
MAX_NAME_LETTERS = 9  # beside the picture
BAND_OPACITY = "55"  # in hexadecimal
HALF_BAND = 0.36  # of its height, in rows


def draw_picture(values: np.ndarray, normed: NormedTable, method: str, settings: dict[str, Any]) -> None:
    sets = cells_by_set(normed, method)
    names = set_names(normed, method, *table.axis_names(KEY))
    before, after = zip(*bands(normed, method, settings), strict=True)
    draw_charts(
        KEY,
        dot_chart("Before", values, sets, names, before),
        dot_chart("After", normed.values, sets, names, after),
        height=FRAME_PIXELS + SET_PIXELS * min(len(sets), MAX_DRAWN_SETS),
    )
    if len(sets) > MAX_DRAWN_SETS:
        st.caption(f"The first {MAX_DRAWN_SETS} of {len(sets)} sets are drawn.")


def cells_by_set(normed: NormedTable, method: str) -> list[np.ndarray]:
    """The cells of each set as pairs of row and column (N, 2), or of each token if cells share no statistics."""
    labels = np.indices(normed.shared.shape)[0] if METHODS[method].shares == CELL else normed.shared
    return [np.argwhere(labels == label) for label in dict.fromkeys(labels.ravel().tolist())]


def set_names(normed: NormedTable, method: str, names: Sequence[str], features: Sequence[str]) -> list[str]:
    """The name of each set: its token, its feature, or its letter in the table."""
    sources = {TOKEN: names, CELL: names, FEATURE: features}.get(METHODS[method].shares)
    if sources is None:
        return [letter(int(label)) for label in dict.fromkeys(normed.shared.ravel().tolist())]
    return [name if len(name) <= MAX_NAME_LETTERS else f"{name[: MAX_NAME_LETTERS - 1]}…" for name in sources]


def bands(
    normed: NormedTable, method: str, settings: dict[str, Any]
) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Low end, middle and high end of each set's band, before and after the norm; empty without statistics.

    The middle is the centre that the norm subtracts, the divisor the distance to either end; for min-max the ends are
    those of the range.
    """
    if METHODS[method].shares == CELL:
        return [((), ())] * len(normed.shared)
    ends = np.array([0.0 if METHODS[method].spread == "range" else -1.0, 0.0, 1.0])
    after = tuple((settings["bias"] + settings["gain"] * ends).tolist())
    first_cells = [tuple(cells[0]) for cells in cells_by_set(normed, method)]
    return [(tuple((normed.centre[cell] + ends * normed.scale[cell]).tolist()), after) for cell in first_cells]


def dot_chart(
    title: str, values: np.ndarray, sets: Sequence[np.ndarray], names: Sequence[str], bands: Sequence[tuple[float, ...]]
) -> Figure:
    """A dot for each cell at its value, a row for each set on its band; in small sets all dots have numbers."""
    drawn = list(sets)[:MAX_DRAWN_SETS]
    rows = list(range(1, len(drawn) + 1))
    layout = layout_of(title, x="value", y="", legend=False, hue=SIGNAL)
    layout["margin"]["l"] = 72
    layout["yaxis"] |= {
        "tickmode": "array",
        "tickvals": rows,
        "ticktext": list(names[: len(drawn)]),
        "range": [len(drawn) + 0.5, 0.5],
        "showgrid": False,
        "ticks": "",
    }
    layout["shapes"] = [vertical_guide(x=0, dash="dot")]
    for row, band in zip(rows, bands, strict=False):
        layout["shapes"] += _band_shapes(row, band)
    cells = np.concatenate(drawn)
    are_small = all(len(of_set) <= MAX_NUMBERED_CELLS for of_set in drawn)
    texts = [number for of_set in drawn for number in _cell_numbers(of_set)]
    words = [f"token {row + 1}, feature {column + 1}" for row, column in cells.tolist()]
    trace = {
        "type": "scatter",
        "name": title,
        "mode": "markers+text" if are_small else "markers",
        "x": numbers(values[cells[:, 0], cells[:, 1]]),
        "y": [row for row, of_set in zip(rows, drawn, strict=True) for _ in of_set],
        "text": texts if are_small else [""] * len(cells),
        "textfont": {"size": 11, "color": "#ffffff"},
        "names": words,
        "hovertext": words,
        "orientation": "h",
        "marker": {"color": SIGNAL, "size": 18 if are_small else 9, "opacity": 1 if are_small else 0.7},
        "hovertemplate": "%{hovertext}: %{x:.4g}<extra></extra>",
    }
    return figure_of([trace], layout, "nothing to draw")


def _band_shapes(row: int, band: tuple[float, ...]) -> list[dict[str, Any]]:
    """The band of a set with a line in its middle; none for an empty one."""
    if not band:
        return []
    low, middle, high = band
    ends = {"y0": row - HALF_BAND, "y1": row + HALF_BAND}
    fill = {"fillcolor": f"{NORM}{BAND_OPACITY}", "line": {"width": 0}, "layer": "below"}
    return [
        {"type": "rect", "x0": low, "x1": high, **ends, **fill},
        {"type": "line", "x0": middle, "x1": middle, **ends, "line": {"color": NORM, "width": 2}},
    ]


def _cell_numbers(cells: np.ndarray) -> list[str]:
    """The numbers of a set's cells (N, 2), from 1: of their features within a token, else of their tokens."""
    column = 1 if len(set(cells[:, 0].tolist())) == 1 else 0
    return [str(i + 1) for i in cells[:, column].tolist()]
