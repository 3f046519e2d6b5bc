"""The table after a norm, its cells shaded and lettered by shared statistics; the statistics."""

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import NORM
from components.shell.text import number
from models.content import Texts
from models.labs.normalization import CELL, METHODS, NormedTable

TEXTS = Texts("labs/normalization")
VEILS = ("14", "50", "32", "6e")  # opacity of the norm's hue; text above keeps its contrast in both themes


def result(found: NormedTable, method: str, names: list[str], features: list[str]) -> None:
    """The table after the norm, and the statistics of each set of cells."""
    st.markdown("**Out**")
    coloured(found, method, names, features, "Normalised table, table")
    if METHODS[method].shares != CELL:
        st.caption(TEXTS("shades"))
    if found.undefined.any():
        sets = _listed([letter(int(at)) for at in found.shared[found.undefined]])
        cure = "" if method in {"min-max", "z-score"} else f" {TEXTS('eps cures')}"
        st.warning(TEXTS("undefined", sets=sets, cure=cure))
    with st.popover("Statistics before and after", icon=":material/table:"):
        st.dataframe(statistics(found, method), alt="Statistics of every set, table")
        st.dataframe(spreads(found.values, names, features), alt="Mean and RMS of the result, table")


def statistics(found: NormedTable, method: str) -> pd.DataFrame:
    """One row per set of cells: its letter, what was subtracted and what was divided by."""
    _, first = np.unique(found.shared, return_index=True)
    kind = METHODS[method]
    cells: dict[str, list[float]] = {}
    if kind.centre:
        cells[kind.centre] = found.centre.ravel()[first].tolist()
    if kind.spread:
        cells[kind.spread] = found.spread.ravel()[first].tolist()
        cells["divided by"] = found.scale.ravel()[first].tolist()
    return pd.DataFrame(cells, index=[letter(int(found.shared.ravel()[at])) for at in first])


def spreads(out: np.ndarray, names: list[str], features: list[str]) -> pd.DataFrame:
    """Mean and RMS of every row and every column."""
    mean = [*out.mean(1), *out.mean(0)]
    rms = np.sqrt([*(out**2).mean(1), *(out**2).mean(0)])
    return pd.DataFrame({"mean": mean, "RMS": rms}, index=[*names, *features])


def letter(at: int) -> str:
    """a, b, ... z, aa, ab, ... like a spreadsheet's columns."""
    return ("" if at < 26 else letter(at // 26 - 1)) + chr(ord("a") + at % 26)


def cell(value: float) -> str:
    """Three decimals, so that columns align, or four significant digits for very small or large numbers."""
    return f"{value:.3f}" if value == 0 or 5e-4 <= abs(value) < 1000 else number(value, 4)


def coloured(found: NormedTable, method: str, names: list[str], features: list[str], alt: str) -> None:
    """The table after a norm, its cells shaded and lettered by shared statistics."""
    shown = pd.DataFrame(found.values, names, features).map(cell)
    if METHODS[method].shares == CELL:
        st.dataframe(shown, alt=alt)
        return
    letters = pd.DataFrame([[letter(int(at)) for at in row] for row in found.shared], names, features)
    colours = [[f"background-color: {NORM}{VEILS[int(at) % len(VEILS)]}" for at in row] for row in found.shared]
    styles = pd.DataFrame(colours, letters.index, letters.columns)
    st.dataframe((shown + " " + letters).style.apply(lambda _: styles, axis=None), alt=alt)


def _listed(letters: list[str]) -> str:
    names = list(dict.fromkeys(letters))
    return f"set{'s'[: len(names) - 1]} " + ", ".join([*names[:6], *["..."][: len(names) > 6]])
