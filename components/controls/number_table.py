"""A table of numbers that a visitor edits or pastes; while it is invalid, pages use its last valid version."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from components.shell import address, session
from components.shell.address import RESTORED
from components.shell.session import Key
from models.content import Texts
from models.insight.words import number
from models.spec.query import escape_markdown

TEXTS = Texts("table")
MAX_CELLS = 400
MAX_VALUE = 1e9
MAX_LINK_LENGTH = 1500  # characters of a table in the address
MAX_PASTE_LENGTH = 25 * MAX_CELLS  # characters
Names = Sequence[str] | Callable[[int], Sequence[str]]  # of rows or columns, or a function of their number

TABLE_VERSION = Key("{}_version", -1)
TABLE_BASE: Key[np.ndarray] = Key("{}_base", np.empty((0, 0)))  # the editor's initial values
TABLE_GOOD: Key[np.ndarray] = Key("{}_good", np.empty((0, 0)))  # the last valid values
TABLE_DEFAULT: Key[np.ndarray] = Key("{}_default", np.empty((0, 0)))  # those of the chosen example
TABLE_NAMES: Key[tuple[Any, Any]] = Key("{}_names", ((), ()))  # of rows and columns
TABLE_LINK_ERROR = Key("{}_not_taken", "")  # why the table of the address was not used


def parse_table(text: str) -> np.ndarray:
    """The table (rows, columns) in a text: one row a line, cells separated by commas, semicolons, tabs or spaces.

    ValueError with a sentence for text, NaN, infinity, rows of different lengths, one column, too many cells.
    """
    lines = [line for line in text.replace("[", " ").replace("]", "\n").splitlines() if line.strip(" ,;\t")]
    cells = [[cell for cell in re.split(r"[,;\s]+", line.strip(" ,;\t")) if cell] for line in lines]
    count = sum(len(row) for row in cells)
    if not count:
        raise ValueError(TEXTS("no numbers"))
    if count > MAX_CELLS:
        raise ValueError(TEXTS("too many cells", cells=count, most=MAX_CELLS))
    lengths = sorted({len(row) for row in cells})
    if len(lengths) > 1:
        raise ValueError(TEXTS("ragged", least=lengths[0], most=lengths[-1]))
    return validated(np.array([[_number(cell) for cell in row] for row in cells]))


def validated(values: np.ndarray) -> np.ndarray:
    """The table, if all computations accept it; ValueError with a sentence otherwise."""
    if values.ndim != 2 or values.shape[1] < 2:
        raise ValueError(TEXTS("one feature"))
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0] + 1
        raise ValueError(TEXTS("not finite", row=row, column=column))
    if np.abs(values).max() > MAX_VALUE:
        raise ValueError(TEXTS("too large", most=MAX_VALUE, here=number(np.abs(values).max())))
    return values


def draw_table(key: str, default: np.ndarray, *, name: str, rows: Names = (), columns: Names = ()) -> np.ndarray:
    """Draws the table and returns its last valid values (rows, columns); `name`: its key in the address."""
    default = np.asarray(default, float)
    _adopt(key, default, name)
    widget = f"{key}_cells_{TABLE_VERSION.of(key).get()}"
    if not session.has_value(widget):  # first drawn, or drawn again after another page
        TABLE_BASE.of(key).put(TABLE_GOOD.of(key).get())
    base = TABLE_BASE.of(key).get()
    TABLE_NAMES.of(key).put((rows, columns))
    row_names = _names_or_numbers(rows, len(base), "token")
    frame = pd.DataFrame(base, row_names, _names_or_numbers(columns, base.shape[1], "feature"))
    edited = st.data_editor(frame, key=widget, width="content", num_rows="fixed", alt="Table to edit, table")
    try:
        TABLE_GOOD.of(key).put(validated(np.asarray(edited, dtype=float)))
    except ValueError as problem:
        st.error(TEXTS("results of before", problem=str(problem)))
    good = TABLE_GOOD.of(key).get()
    link = _link_text(good, default)
    address.collect_changes({name: link if _fits_in_link(link) else None})
    if not _fits_in_link(link):
        st.caption(TEXTS("no link"))
    _draw_paste(key)
    return good


def _draw_paste(key: str) -> None:
    """Draws the popover that replaces the table by a pasted one."""
    with st.popover("Paste a table", icon=":material/content_paste:"):
        text = st.text_area(
            "Numbers, one row per line",
            key=f"{key}_paste",
            max_chars=MAX_PASTE_LENGTH,
            placeholder="1, 2, -1\n3, 1, 0.5",
            help=TEXTS("paste", most=MAX_CELLS),
        )
        if st.button("Use it", key=f"{key}_use"):
            _put_pasted(key, text)


def put(key: str, values: np.ndarray) -> None:
    """Replaces the table, before it is drawn or in a callback."""
    TABLE_GOOD.of(key).put(np.asarray(values, float))
    TABLE_LINK_ERROR.of(key).put("")
    TABLE_VERSION.of(key).put(TABLE_VERSION.of(key).get() + 1)


def _adopt(key: str, default: np.ndarray, name: str) -> None:
    """Takes the table from the address or from a changed default, before it is drawn."""
    text = st.query_params.get(name)
    good, link_error, last_default = TABLE_GOOD.of(key), TABLE_LINK_ERROR.of(key), TABLE_DEFAULT.of(key)
    previous_default = last_default.get() if last_default.is_set else default
    with address.adopting(name) as is_new:
        is_current = good.is_set and (not is_new or _is_same_table(_link_text(good.get(), previous_default), text))
        if is_current:
            if text is None and not np.array_equal(previous_default, default):
                put(key, default)
        else:
            try:
                put(key, default if text is None else _parse_link(text))
            except ValueError as problem:
                put(key, default)
                link_error.put(TEXTS("link not used", name=name, problem=str(problem)))
        last_default.put(default)
    if link_error.get() and np.array_equal(good.get(), default):
        st.info(link_error.get())


def _is_same_table(link: str | None, text: str | None) -> bool:
    """Whether the text in the address is this session's table, or absent because the table is too long for a link."""
    if _fits_in_link(link):
        return link == text
    return text is None and RESTORED.get()


def _link_text(values: np.ndarray, default: np.ndarray) -> str | None:
    """The table as written in an address, ten digits a number, semicolons between rows; None for the default."""
    if np.array_equal(values, default):
        return None
    return ";".join(",".join(f"{cell:.10g}" for cell in row) for row in values)


def _fits_in_link(text: str | None) -> bool:
    return len(text or "") <= MAX_LINK_LENGTH


def _parse_link(text: str) -> np.ndarray:
    if not _fits_in_link(text):
        raise ValueError(TEXTS("too long", characters=len(text), most=MAX_LINK_LENGTH))
    return parse_table(text.replace(";", "\n"))


def _put_pasted(key: str, text: str) -> None:
    """Replaces the table by the one in a text, or draws why it is invalid."""
    try:
        values = parse_table(text)
    except ValueError as problem:
        st.error(TEXTS("unchanged", problem=str(problem)))
        return
    put(key, values)
    st.rerun()


def axis_names(key: str) -> tuple[list[str], list[str]]:
    """The names of the table's rows and columns, once it has been drawn."""
    values = TABLE_GOOD.of(key).get()
    rows, columns = TABLE_NAMES.of(key).get()
    return _names_or_numbers(rows, len(values), "token"), _names_or_numbers(columns, values.shape[1], "feature")


def _number(cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        raise ValueError(f"'{escape_markdown(cell[:20])}' is not a number.") from None
    if not math.isfinite(number):
        raise ValueError(f"{cell[:20]} is not a finite number.")
    return number


def _names_or_numbers(names: Names, count: int, noun: str) -> list[str]:
    """The names if their number is `count`, else the noun with numbers."""
    listed = list(names(count) if callable(names) else names)
    return listed if len(listed) == count else [f"{noun} {number}" for number in range(1, count + 1)]
