"""What all labs draw with: findings, charts side by side, matrices, and tables whose shapes must match."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, SupportsFloat, TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.charts.depth import DEFAULT_ROLES, depth_profile, named_series
from components.charts.parts import Figure, title_of
from components.labs.examples import numbered_names
from components.shell.session import Key
from components.shell.static_chart import static_chart
from components.shell.text import badge, number

MAX_ROWS_WITHOUT_SCROLLING = 8  # of a matrix
SCROLLED_PIXELS = 260  # height of a longer matrix
Tables = TypeVar("Tables")


def draw_finding(text: str, kind: str = "formula") -> None:
    """Draws a conclusion or a heading in bold, with the badge that says how its numbers were made."""
    st.markdown(f"**{text}** {badge(kind)}")


def draw_sentence(text: str, kind: str = "formula") -> None:
    """Draws a sentence with the badge that says how its numbers were made."""
    st.markdown(f"{text} {badge(kind)}")


def draw_note(text: str, kind: str = "formula") -> None:
    """Draws small print with the badge that says how its numbers were made."""
    st.caption(f"{text} {badge(kind)}")


def draw_charts(
    key: str, *figures: Figure, height: int = 280, on_click: Callable[[Any, Any], None] | None = None
) -> None:
    """Draws figures side by side under their own titles; `on_click` gets x and y of a clicked point."""
    for column, figure in zip(st.columns(len(figures)), figures, strict=True):
        title = title_of(figure)
        with column:
            static_chart(figure, title, f"{key}_{title}".lower().replace(" ", "_"), height, on_click)


def table_places(count: int) -> list[DeltaGenerator]:
    """Returns places for tables side by side, each as wide as its table; those that do not fit go to the next line."""
    row = st.container(horizontal=True)
    return [row.container(width="content") for _ in range(count)]


def draw_matrix(name: str, values: np.ndarray, row: str, column: str = "") -> None:
    """Draws a matrix with its shape as a table; its rows are numbered after `row`, its columns after `column`."""
    st.markdown(f"**{name}** {values.shape}")
    columns = [f"{column}{i + 1}" for i in range(values.shape[1])]
    frame = pd.DataFrame(values, numbered_names(row, len(values)), columns)
    fits = len(values) <= MAX_ROWS_WITHOUT_SCROLLING
    height: int | Literal["content"] = "content" if fits else SCROLLED_PIXELS
    st.dataframe(frame.map(number), alt=f"{name}, table", height=height, width="content")


def line_chart(
    title: str,
    sites: Iterable[object],
    lines: Mapping[str, np.ndarray | Sequence[float]],
    roles: Sequence[str] = DEFAULT_ROLES,
    **axes: Any,
) -> Figure:
    """Named lines over sites, styled by their roles, on a log axis; `axes`: further arguments of `depth_profile`."""
    return depth_profile(title=title, sites=sites, series=named_series(lines, roles), **axes)


def number_cells(values: Iterable[SupportsFloat], digits: int = 4) -> list[str]:
    """Numbers as the cells of a table."""
    return [number(float(value), digits) for value in values]


def last_fitting(memory: Key[Tables | None], tables: Tables, error: str, default: Tables) -> Tables:
    """`tables` if there is no `error`; else draws it and returns the last ones without an error, or the default."""
    if not error:
        memory.put(tables)
        return tables
    st.error(error)
    return memory.get() or default
