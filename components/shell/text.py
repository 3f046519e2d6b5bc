"""Small pieces of the labs: numbers as text and as LaTeX, badges, figures, tables."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from addnorm.player import BY
from components.shell.style import BADGES

WRITTEN = {
    "formula": "Written here from a formula; a test computes it.",
    "recorded": "Measured when this was written; a test measures it again.",
}


def badge(kind: str, by: str = "") -> str:
    """A badge (a key of BADGES) as Markdown: hovering says by what a number was made, a press leads to the glossary."""
    return f'[:{BADGES[kind]}-badge[{kind}]](glossary?word={kind} "{by or BY[kind]}")'


def typed(text: str, kind: str) -> str:
    """A text that somebody wrote, with a badge if it holds results, which have decimals; tests compute them again."""
    without_papers = re.sub(r"\d{4}\.\d{5}", "", text)
    return f"{text} {badge(kind, WRITTEN[kind])}" if re.search(r"\d\.\d|\de-\d", without_papers) else text


def number(value: float, digits: int = 4) -> str:
    """A number with at most so many significant digits; -0 is 0."""
    return f"{value + 0.0:.{digits}g}"


def vector(values: np.ndarray | Sequence[float], digits: int = 4) -> str:
    """A vector as text: [1, 2.5, -1]."""
    return "[" + ", ".join(number(value, digits) for value in np.asarray(values, float)) + "]"


def latex(value: float, digits: int = 3) -> str:
    """A number as LaTeX, with a power of ten if it is very large or small."""
    mantissa, _, power = number(value, digits).partition("e")
    if value in (np.inf, -np.inf):
        return r"\infty" if value > 0 else r"-\infty"
    return rf"{mantissa}\times10^{{{int(power)}}}" if power else mantissa


def named_table(title: str, rows: dict[str, Any] | pd.DataFrame, height: int | str = "auto") -> None:
    """Draws a table under its accessible name."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    st.dataframe(frame, alt=f"{title}, table", hide_index=True, height=height)  # type: ignore[arg-type]
