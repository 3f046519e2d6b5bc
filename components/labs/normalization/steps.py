"""The arithmetic of one token with its numbers: statistics of its cells' sets, and each cell's result."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from components.labs.normalization.table import letter
from components.shell.text import badge, vector
from models.content import Texts
from models.labs.normalization import ACROSS_TOKENS, CELL, METHODS, NormedTable

TEXTS = Texts("labs/normalization")
SHOWN = 4  # sets, cells and terms written out; the table has the rest


def steps(values: np.ndarray, found: NormedTable, method: str, row: int, settings: dict[str, Any]) -> None:
    """Statistics first, then cell by cell."""
    running, counted = settings.get("running"), settings.get("counted")
    if METHODS[method].shares != CELL:
        sets = list(dict.fromkeys(found.shared[row].tolist()))
        for at in sets[:SHOWN]:
            cells = found.shared == at
            if running is None and METHODS[method].shares in ACROSS_TOKENS and counted is not None:
                cells = cells & counted[:, None]
            column = int(np.flatnonzero(found.shared[row] == at)[0])
            statistics = found.centre[row, column], found.spread[row, column], found.scale[row, column]
            for line in set_lines(values[cells], method, letter(at), statistics, settings):
                st.latex(line)
        if len(sets) > SHOWN:
            st.caption(TEXTS("sets written out", shown=SHOWN, sets=len(sets)))
    for column in range(min(SHOWN, values.shape[1])):
        st.latex(cell_line(values, found, method, (row, column), settings))
    st.markdown(f"Out: **{vector(found.values[row] + 0.0)}** {badge('formula')}")


def set_lines(
    cells: np.ndarray, method: str, name: str, statistics: tuple[float, float, float], settings: dict[str, Any]
) -> list[str]:
    """The lines of one set: its centre, its spread, and its divisor."""
    centre, spread, scale = statistics
    kind, eps = METHODS[method], settings["eps"]
    if settings.get("running") is not None:
        remembered = (
            rf"\mu_{{{name}}} = {number(centre)}, \quad \sigma^2_{{{name}}} = {number(spread)} \ \text{{(running)}}"
        )
        return [remembered, rf"\sqrt{{{number(spread)} + {number(eps)}}} = {number(scale)}"]
    if kind.spread == "range":
        least, most = number(centre), number(centre + spread)
        return [
            rf"\min_{{{name}}} = {least}, \quad \max_{{{name}}} = {most}, \quad {most} - {signed(centre)} = "
            rf"{number(scale)}"
        ]
    squares = [number(value**2) for value in cells - centre]
    divisor = len(cells) - bool(settings.get("unbiased"))
    lines = []
    symbol = rf"\overline{{x^2}}_{{{name}}}"
    if kind.spread == "variance":
        symbol = rf"\sigma^2_{{{name}}}"
        terms = [number(cells[0]), *(signed(value, sign=True) for value in cells[1:])]
        lines.append(rf"\mu_{{{name}}} = \frac{{{joined(terms, ' ', '+')}}}{{{len(cells)}}} = {number(centre)}")
    lines.append(rf"{symbol} = \frac{{{joined(squares, ' + ')}}}{{{divisor}}} = {number(spread)}")
    added = "" if method == "z-score" else f" + {number(eps)}"
    return [*lines, rf"\sqrt{{{number(spread)}{added}}} = {number(scale)}"]


def cell_line(
    values: np.ndarray, found: NormedTable, method: str, at: tuple[int, int], settings: dict[str, Any]
) -> str:
    """One cell from its value to its result."""
    x, gain, bias = values[at], settings["gain"], settings["bias"]
    if METHODS[method].shares == CELL:
        raw = rf"\tanh({number(settings['alpha'])} \cdot {signed(x)})"
    else:
        moved = number(x) if not METHODS[method].centre else f"{number(x)} - {signed(found.centre[at])}"
        raw = rf"\frac{{{moved}}}{{{number(found.scale[at])}}}"
    return rf"y_{{{at[1] + 1}}} = {number(gain)} \cdot {raw} {signed(bias, sign=True)} = {number(found.values[at])}"


def number(value: float) -> str:
    """Four significant digits as LaTeX, with a power of ten if needed, and no -0."""
    mantissa, _, power = f"{value + 0.0:.4g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa


def signed(value: float, *, sign: bool = False) -> str:
    """A number as a later term of a sum (`sign`: with plus or minus), or in brackets if negative."""
    if sign:
        return f"- {number(-value)}" if value < 0 else f"+ {number(value)}"
    return f"({number(value)})" if value < 0 else number(value)


def joined(terms: Sequence[str], between: str, before_dots: str = "") -> str:
    """All terms, or the first ones, dots and the last."""
    if len(terms) <= SHOWN:
        return between.join(terms)
    return between.join([*terms[: SHOWN - 1], rf"{before_dots} \dots".strip(), terms[-1]])
