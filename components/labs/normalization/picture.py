"""Before and after a norm: the cells that share statistics in one row, on a band from the norm's own numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import NORM, SIGNAL
from components.charts.parts import level, numbers
from components.controls import number_table as table
from components.labs.normalization.table import letter
from components.labs.parts import draw_charts
from models.labs.normalization import CELL, FEATURE, METHODS, TOKEN, NormedTable

KEY = "normalization"
MAX_SETS = 12  # that are drawn; the tables have all
NUMBERED = 12  # cells of a set up to which each shows its number
ROW, FRAME = 30, 84  # pixels: the height of a set, and of title and axis
LONGEST = 9  # letters of a name beside the picture
BAND = "55"  # opacity


def picture(values: np.ndarray, found: NormedTable, method: str, settings: dict[str, Any]) -> None:
    """The cells before and after the norm, side by side."""
    cells = by_set(found, method)
    called = set_names(found, method, *table.names(KEY))
    ends = bands(found, method, settings)
    before, after = ([pair[at] for pair in ends] for at in (0, 1))
    figures = dots("Before", values, cells, called, before), dots("After", found.values, cells, called, after)
    draw_charts(KEY, *figures, height=FRAME + ROW * min(len(cells), MAX_SETS))
    if len(cells) > MAX_SETS:
        st.caption(f"The first {MAX_SETS} of {len(cells)} sets are drawn.")


def by_set(found: NormedTable, method: str) -> list[np.ndarray]:
    """The cells of each set as pairs of row and column (N, 2); without statistics, those of each token."""
    labels = np.indices(found.shared.shape)[0] if METHODS[method].shares == CELL else found.shared
    return [np.argwhere(labels == label) for label in dict.fromkeys(labels.ravel().tolist())]


def set_names(found: NormedTable, method: str, names: Sequence[str], features: Sequence[str]) -> list[str]:
    """What each set is called: its token, its feature, or its letter in the table."""
    whole = {TOKEN: names, CELL: names, FEATURE: features}.get(METHODS[method].shares)
    if whole is None:
        return [letter(int(label)) for label in dict.fromkeys(found.shared.ravel().tolist())]
    return [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in whole]


def bands(
    found: NormedTable, method: str, settings: dict[str, Any]
) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """By set, least, middle and greatest of its band before and after: what the norm subtracts, and what it divides by
    on either side of that; for min-max the range. Empty without statistics.
    """
    if METHODS[method].shares == CELL:
        return [((), ())] * len(found.shared)
    ends = np.array([0.0 if METHODS[method].spread == "range" else -1.0, 0.0, 1.0])
    after = tuple((settings["bias"] + settings["gain"] * ends).tolist())
    first = [tuple(cells[0]) for cells in by_set(found, method)]
    return [(tuple((found.centre[cell] + ends * found.scale[cell]).tolist()), after) for cell in first]


def dots(
    title: str, values: np.ndarray, sets: Sequence[np.ndarray], called: Sequence[str], ends: Sequence[tuple[float, ...]]
) -> Figure:
    """A dot for each cell at its value, a row for each set, on its band; a set of few cells has them numbered_names."""
    drawn = list(sets)[:MAX_SETS]
    layout = layout_of(title, x="value", y="", legend=False, hue=SIGNAL)
    rows = list(range(1, len(drawn) + 1))
    layout["margin"]["l"] = 72
    layout["yaxis"] |= {
        "tickmode": "array",
        "tickvals": rows,
        "ticktext": list(called[: len(drawn)]),
        "range": [len(drawn) + 0.5, 0.5],
        "showgrid": False,
        "ticks": "",
    }
    layout["shapes"] = [level(x=0, dash="dot")]
    for row, end in zip(rows, ends, strict=False):
        if end:
            least, middle, most = end
            band = {"type": "rect", "y0": row - 0.36, "y1": row + 0.36, "line": {"width": 0}, "layer": "below"}
            layout["shapes"].append(band | {"x0": least, "x1": most, "fillcolor": f"{NORM}{BAND}"})
            line = {"type": "line", "y0": row - 0.36, "y1": row + 0.36, "line": {"color": NORM, "width": 2}}
            layout["shapes"].append(line | {"x0": middle, "x1": middle})
    cells = np.concatenate(drawn)
    small = all(len(one) <= NUMBERED for one in drawn)
    place = [str(_number(one, at)) if small else "" for one in drawn for at in range(len(one))]
    words = [f"token {row + 1}, feature {column + 1}" for row, column in cells.tolist()]
    trace = {
        "type": "scatter",
        "name": title,
        "mode": "markers+text" if small else "markers",
        "x": numbers(values[cells[:, 0], cells[:, 1]]),
        "y": [row for row, one in zip(rows, drawn, strict=True) for _ in one],
        "text": place,
        "textfont": {"size": 11, "color": "#ffffff"},
        "names": words,
        "hovertext": words,
        "orientation": "h",
        "marker": {"color": SIGNAL, "size": 18 if small else 9, "opacity": 1 if small else 0.7},
        "hovertemplate": "%{hovertext}: %{x:.4g}<extra></extra>",
    }
    return figure_of([trace], layout, "nothing to draw")


def _number(cells: np.ndarray, at: int) -> int:
    """The number of a cell in its set: of its feature in a token, else of its token; counted from 1."""
    row, column = cells[at]
    return int(column if len(set(cells[:, 0].tolist())) == 1 else row) + 1
