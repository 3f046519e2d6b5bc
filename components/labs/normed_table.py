"""The lab's table, and the table after a norm, its cells shaded and lettered by shared statistics."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import NORM
from components.shell.text import number
from models.labs.normalization import CELL, METHODS, NormedTable

OPACITIES = ("14", "50", "32", "6e")  # of the norm's hue, in hexadecimal; text keeps its contrast in both themes


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


def letter(label: int) -> str:
    """The name of a set by its number: a, b, ... z, aa, ab, ... like the columns of a spreadsheet."""
    last_letter = chr(ord("a") + label % 26)
    return last_letter if label < 26 else letter(label // 26 - 1) + last_letter


def cell_text(value: float) -> str:
    """Three decimals, so that columns align, or four significant digits for very small or large numbers."""
    return f"{value:.3f}" if value == 0 or 5e-4 <= abs(value) < 1000 else number(value, 4)
