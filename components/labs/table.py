"""A table of numbers that a visitor edits cell by cell or pastes whole. Whatever is wrong with it, the last good one stays."""

import math
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from models.spec.query import literal

MOST_CELLS = 400
LARGEST = 1e9


def parsed(text: str) -> np.ndarray:
    """The table (rows, columns) in a text: a line a row, cells apart by commas, semicolons, tabs or spaces.

    ValueError with a sentence for text, NaN, infinity, rows of different length, fewer than two columns and too many cells.
    """
    lines = [line for line in text.replace("[", " ").replace("]", "\n").splitlines() if line.strip(" ,;\t")]
    cells = [[cell for cell in re.split(r"[,;\s]+", line.strip(" ,;\t")) if cell] for line in lines]
    count = sum(len(row) for row in cells)
    if not count:
        raise ValueError("There is no number in what was pasted.")
    if count > MOST_CELLS:
        raise ValueError(f"The table has {count:,} cells; at most {MOST_CELLS} are taken.")
    lengths = sorted({len(row) for row in cells})
    if len(lengths) > 1:
        raise ValueError(f"All rows must be of one length; here they have from {lengths[0]} to {lengths[-1]} cells.")
    return checked(np.array([[_number(cell) for cell in row] for row in cells]))


def checked(values: np.ndarray) -> np.ndarray:
    """The table, if every cell is a number that can be worked with. ValueError with a sentence otherwise."""
    if values.ndim != 2 or values.shape[1] < 2:
        raise ValueError("A token needs at least two features: two columns or more.")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0] + 1
        raise ValueError(f"Row {row}, column {column} holds no finite number.")
    if np.abs(values).max() > LARGEST:
        raise ValueError(f"Numbers up to {LARGEST:,.0f} are taken; here is {np.abs(values).max():.3g}.")
    return values


def table(
    key: str, default: np.ndarray, *, rows: Sequence[str] = (), columns: Sequence[str] = (), fixed: bool = False
) -> np.ndarray:
    """The table as it stands, (rows, columns). `fixed` keeps its shape: a pasted one of another shape is refused."""
    good_key, version_key, cells_key = f"{key}_good", f"{key}_version", f"{key}_cells"
    given = st.session_state.setdefault(f"{key}_names", (list(rows), list(columns)))
    good: np.ndarray = st.session_state.setdefault(good_key, np.asarray(default, float))
    version = st.session_state.setdefault(version_key, 0)
    widget = f"{cells_key}_{version}"
    if widget not in st.session_state:  # first drawn, or drawn again after a walk to another page
        st.session_state[f"{key}_base"] = good
    base: np.ndarray = st.session_state[f"{key}_base"]
    frame = pd.DataFrame(base, _named(given[0], len(base), "token"), _named(given[1], base.shape[1], "feature"))
    edited = st.data_editor(frame, key=widget, width="stretch", num_rows="fixed", alt="Table to edit, table")
    try:
        good = checked(np.asarray(edited, dtype=float))
        st.session_state[good_key] = good
    except ValueError as problem:
        st.error(f"{problem} What is computed below is still the last table that was whole.")
    with st.popover("Paste a table", icon=":material/content_paste:"):
        text = st.text_area(
            "Numbers, a line a row",
            key=f"{key}_paste",
            placeholder="1, 2, -1\n3, 1, 0.5",
            help=f"Apart by commas, spaces, tabs or semicolons; brackets are ignored. At most {MOST_CELLS} cells.",
        )
        if st.button("Use it", key=f"{key}_use"):
            _use(key, text, good.shape if fixed else None)
    return good


def put(key: str, values: np.ndarray, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
    """Replaces the table, before it is drawn or in a callback."""
    st.session_state[f"{key}_good"] = np.asarray(values, float)
    st.session_state[f"{key}_names"] = (list(rows), list(columns))
    st.session_state[f"{key}_version"] = st.session_state.get(f"{key}_version", 0) + 1


def _use(key: str, text: str, shape: tuple[int, ...] | None) -> None:
    try:
        values = parsed(text)
        if shape is not None and values.shape != shape:
            raise ValueError(f"Here the table has {shape[0]} rows and {shape[1]} columns; this one has another shape.")
    except ValueError as problem:
        st.error(f"{problem} The table is as it was.")
        return
    put(key, values, *st.session_state[f"{key}_names"])
    st.rerun()


def names(key: str) -> tuple[list[str], list[str]]:
    """What the rows and the columns of the table are called, once it was drawn."""
    values: np.ndarray = st.session_state[f"{key}_good"]
    rows, columns = st.session_state[f"{key}_names"]
    return _named(rows, len(values), "token"), _named(columns, values.shape[1], "feature")


def _number(cell: str) -> float:
    try:
        found = float(cell)
    except ValueError:
        raise ValueError(f"'{literal(cell[:20])}' is not a number.") from None
    if not math.isfinite(found):
        raise ValueError(f"{cell[:20]} is not a finite number.")
    return found


def _named(given: Sequence[str], count: int, word: str) -> list[str]:
    """Names of its own where there are as many as needed, else numbers."""
    return list(given) if len(given) == count else [f"{word} {at + 1}" for at in range(count)]
