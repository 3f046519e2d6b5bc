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
MAX_DRAWN_SETS = 12  # the tables have all sets
MAX_NUMBERED_CELLS = 12  # dots of larger sets have no numbers
SET_PIXELS = 30  # height of a set's row
FRAME_PIXELS = 84  # height of title and axis
NAMES_PIXELS = 72  # width of the sets' names
MAX_NAME_LETTERS = 9  # of a set's name
BAND_OPACITY = "55"  # in hexadecimal
HALF_BAND_ROWS = 0.36  # half the height of a band, in rows


def draw_picture(values: np.ndarray, normed: NormedTable, method: str, settings: dict[str, Any]) -> None:
    """Draws dot charts of the values before and after a norm; `settings`: the arguments of the norm."""
    sets = cells_by_set(normed, method)
    names = set_names(normed, method, *table.axis_names(KEY))
    input_bands, output_bands = zip(*bands(normed, method, settings), strict=True)
    draw_charts(
        KEY,
        dot_chart("Before", values, sets=sets, names=names, bands=input_bands),
        dot_chart("After", normed.values, sets=sets, names=names, bands=output_bands),
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

    Before the norm, the middle is the centre that it subtracts, and either end is its divisor away. For min-max, the
    band covers the range of the set, and its middle is the low end.
    """
    if METHODS[method].shares == CELL:
        return [((), ())] * len(normed.shared)
    ends = np.array([0.0 if METHODS[method].spread == "range" else -1.0, 0.0, 1.0])
    output_band = tuple((settings["bias"] + settings["gain"] * ends).tolist())
    pairs = []
    for cells in cells_by_set(normed, method):
        cell = tuple(cells[0])  # all cells of a set have the same statistics
        input_band = tuple((normed.centre[cell] + ends * normed.scale[cell]).tolist())
        pairs.append((input_band, output_band))
    return pairs


def dot_chart(
    title: str, values: np.ndarray, sets: Sequence[np.ndarray], names: Sequence[str], bands: Sequence[tuple[float, ...]]
) -> Figure:
    """A dot for each cell at its value, a row for each set on its band; in small sets all dots have numbers."""
    drawn = list(sets)[:MAX_DRAWN_SETS]
    rows = list(range(1, len(drawn) + 1))
    layout = layout_of(title, x="value", y="", legend=False, hue=SIGNAL)
    layout["margin"]["l"] = NAMES_PIXELS
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
    are_small = all(len(cells_of_set) <= MAX_NUMBERED_CELLS for cells_of_set in drawn)
    texts = [number for cells_of_set in drawn for number in _cell_numbers(cells_of_set)]
    words = [f"token {row + 1}, feature {column + 1}" for row, column in cells.tolist()]
    trace = {
        "type": "scatter",
        "name": title,
        "mode": "markers+text" if are_small else "markers",
        "x": numbers(values[cells[:, 0], cells[:, 1]]),
        "y": [row for row, cells_of_set in zip(rows, drawn, strict=True) for _ in cells_of_set],
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
    ends = {"y0": row - HALF_BAND_ROWS, "y1": row + HALF_BAND_ROWS}
    fill = {"fillcolor": f"{NORM}{BAND_OPACITY}", "line": {"width": 0}, "layer": "below"}
    return [
        {"type": "rect", "x0": low, "x1": high, **ends, **fill},
        {"type": "line", "x0": middle, "x1": middle, **ends, "line": {"color": NORM, "width": 2}},
    ]


def _cell_numbers(cells: np.ndarray) -> list[str]:
    """The numbers of a set's cells (N, 2), from 1: features if they are of one token, else tokens."""
    is_one_token = len(set(cells[:, 0].tolist())) == 1
    column = 1 if is_one_token else 0
    return [str(i + 1) for i in cells[:, column].tolist()]
