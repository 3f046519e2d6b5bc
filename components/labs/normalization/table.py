"""The lab's table, and the table after a norm, its cells shaded and lettered by shared statistics."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import NORM
from components.shell.text import number
from models.content import Texts
from models.labs.normalization import CELL, METHODS, NormedTable

TEXTS = Texts("labs/normalization")
OPACITIES = ("14", "50", "32", "6e")  # of the norm's hue, in hexadecimal; text keeps its contrast in both themes
MAX_LISTED_SETS = 6
ROUNDING = 1e-12  # of the size: a smaller mean is 0


@dataclass(frozen=True)
class LabTable:
    """The table (N, D) with the names of its tokens, and the chosen row and eps."""

    values: np.ndarray
    names: list[str]
    row: int
    eps: float

    @property
    def token(self) -> np.ndarray:
        """The chosen token (D,)."""
        return np.asarray(self.values[self.row])


def draw_result(normed: NormedTable, method: str, names: list[str], features: list[str]) -> None:
    """Draws the table after the norm, and the statistics of each set of cells."""
    st.markdown("**Out**")
    draw_coloured(normed, method, names, features, "Normalised table, table")
    if METHODS[method].shares != CELL:
        st.caption(TEXTS("shades"))
    if normed.undefined.any():
        sets = _sets_text([letter(int(label)) for label in normed.shared[normed.undefined]])
        cure = "" if method in {"min-max", "z-score"} else f" {TEXTS('eps cures')}"
        st.warning(TEXTS("undefined", sets=sets, cure=cure))
    with st.popover("Statistics before and after", icon=":material/table:"):
        st.dataframe(set_statistics(normed, method), alt="Statistics of every set, table")
        st.dataframe(means_and_rms(normed.values, names, features), alt="Mean and RMS of the result, table")


def draw_coloured(normed: NormedTable, method: str, names: list[str], features: list[str], alt: str) -> None:
    """Draws the table after a norm, its cells shaded and lettered by shared statistics."""
    cells = pd.DataFrame(normed.values, names, features).map(cell_text)
    if METHODS[method].shares == CELL:
        st.dataframe(cells, alt=alt)
        return
    letters = pd.DataFrame([[letter(int(label)) for label in row] for row in normed.shared], names, features)
    colours = [
        [f"background-color: {NORM}{OPACITIES[int(label) % len(OPACITIES)]}" for label in row] for row in normed.shared
    ]
    styles = pd.DataFrame(colours, letters.index, letters.columns)
    st.dataframe((cells + " " + letters).style.apply(lambda _: styles, axis=None), alt=alt)


def set_statistics(normed: NormedTable, method: str) -> pd.DataFrame:
    """One row per set of cells: its letter, its centre, its spread and the divisor."""
    labels, first_cells = np.unique(normed.shared, return_index=True)
    norm = METHODS[method]
    cells: dict[str, list[float]] = {}
    if norm.centre:
        cells[norm.centre] = normed.centre.ravel()[first_cells].tolist()
    if norm.spread:
        cells[norm.spread] = normed.spread.ravel()[first_cells].tolist()
        cells["divided by"] = normed.scale.ravel()[first_cells].tolist()
    return pd.DataFrame(cells, index=[letter(int(label)) for label in labels])


def means_and_rms(out: np.ndarray, names: list[str], features: list[str]) -> pd.DataFrame:
    """Mean and RMS of every row and every column."""
    mean = np.array([*out.mean(1), *out.mean(0)])
    rms = np.sqrt([*(out**2).mean(1), *(out**2).mean(0)])
    mean[np.abs(mean) < ROUNDING * rms] = 0.0
    return pd.DataFrame({"mean": mean, "RMS": rms}, index=[*names, *features])


def letter(label: int) -> str:
    """The name of a set by its number: a, b, ... z, aa, ab, ... like the columns of a spreadsheet."""
    last_letter = chr(ord("a") + label % 26)
    return last_letter if label < 26 else letter(label // 26 - 1) + last_letter


def cell_text(value: float) -> str:
    """Three decimals, so that columns align, or four significant digits for very small or large numbers."""
    return f"{value:.3f}" if value == 0 or 5e-4 <= abs(value) < 1000 else number(value, 4)


def _sets_text(letters: list[str]) -> str:
    """Names of sets in words, each once: "sets a, b"."""
    names = list(dict.fromkeys(letters))
    noun = "set" if len(names) == 1 else "sets"
    dots = ["..."] if len(names) > MAX_LISTED_SETS else []
    return f"{noun} " + ", ".join([*names[:MAX_LISTED_SETS], *dots])
