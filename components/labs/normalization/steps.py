"""The arithmetic of one token: the statistics of the sets of its cells, and the result of each cell."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from components.labs.normalization.table import letter
from components.labs.parts import draw_sentence
from components.shell.text import vector
from models.content import Texts
from models.labs.normalization import ACROSS_TOKENS, CELL, METHODS, NormedTable

TEXTS = Texts("labs/normalization")
MAX_WRITTEN = 4  # sets, cells and terms that are written out; the table has all


def draw_steps(values: np.ndarray, normed: NormedTable, method: str, row: int, settings: dict[str, Any]) -> None:
    """Draws the arithmetic of the token in `row` as formulas; `settings`: the arguments of the norm."""
    running, counted = settings.get("running"), settings.get("counted")
    if METHODS[method].shares != CELL:
        sets = list(dict.fromkeys(normed.shared[row].tolist()))
        for label in sets[:MAX_WRITTEN]:
            cells = normed.shared == label
            if counted is not None and running is None and METHODS[method].shares in ACROSS_TOKENS:
                cells = cells & counted[:, None]
            column = int(np.flatnonzero(normed.shared[row] == label)[0])
            statistics = normed.centre[row, column], normed.spread[row, column], normed.scale[row, column]
            lines = set_lines(values[cells], method, name=letter(label), statistics=statistics, settings=settings)
            for line in lines:
                st.latex(line)
        if len(sets) > MAX_WRITTEN:
            st.caption(TEXTS("sets written out", shown=MAX_WRITTEN, sets=len(sets)))
    for column in range(min(MAX_WRITTEN, values.shape[1])):
        st.latex(cell_line(values, normed, method, (row, column), settings))
    draw_sentence(f"Out: **{vector(normed.values[row] + 0.0)}**")


def set_lines(
    cells: np.ndarray, method: str, name: str, statistics: tuple[float, float, float], settings: dict[str, Any]
) -> list[str]:
    """The lines of a set in LaTeX: its centre, its spread and its divisor, which are its `statistics`."""
    centre, spread, scale = statistics
    spread_name, eps = METHODS[method].spread, settings["eps"]
    if settings.get("running") is not None:
        mean = rf"\mu_{{{name}}} = {number(centre)}"
        variance = rf"\sigma^2_{{{name}}} = {number(spread)}"
        root = rf"\sqrt{{{number(spread)} + {number(eps)}}} = {number(scale)}"
        return [rf"{mean}, \quad {variance} \ \text{{(running)}}", root]
    if spread_name == "range":
        low, high = number(centre), number(centre + spread)
        ends = rf"\min_{{{name}}} = {low}, \quad \max_{{{name}}} = {high}"
        return [rf"{ends}, \quad {high} - {signed(centre)} = {number(scale)}"]
    squares = [number(value**2) for value in cells - centre]
    divisor = len(cells) - 1 if settings.get("unbiased") else len(cells)
    lines = []
    symbol = rf"\overline{{x^2}}_{{{name}}}"
    if spread_name == "variance":
        symbol = rf"\sigma^2_{{{name}}}"
        terms = [number(cells[0]), *(signed(value, sign=True) for value in cells[1:])]
        lines.append(rf"\mu_{{{name}}} = \frac{{{join_terms(terms, ' ', '+')}}}{{{len(cells)}}} = {number(centre)}")
    lines.append(rf"{symbol} = \frac{{{join_terms(squares, ' + ')}}}{{{divisor}}} = {number(spread)}")
    added = "" if method == "z-score" else f" + {number(eps)}"
    return [*lines, rf"\sqrt{{{number(spread)}{added}}} = {number(scale)}"]


def cell_line(
    values: np.ndarray, normed: NormedTable, method: str, cell: tuple[int, int], settings: dict[str, Any]
) -> str:
    """A cell from its value to its result, in LaTeX."""
    x, gain, bias = values[cell], settings["gain"], settings["bias"]
    if METHODS[method].shares == CELL:
        raw = rf"\tanh({number(settings['alpha'])} \cdot {signed(x)})"
    else:
        centred = f"{number(x)} - {signed(normed.centre[cell])}" if METHODS[method].centre else number(x)
        raw = rf"\frac{{{centred}}}{{{number(normed.scale[cell])}}}"
    return (
        rf"y_{{{cell[1] + 1}}} = {number(gain)} \cdot {raw} {signed(bias, sign=True)} = {number(normed.values[cell])}"
    )


def number(value: float) -> str:
    """Four significant digits as LaTeX, with a power of ten if needed, and no -0."""
    mantissa, _, power = f"{value + 0.0:.4g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa


def signed(value: float, *, sign: bool = False) -> str:
    """With `sign`, a number as a term of a sum: "+ 2" or "- 2". Without, a number in brackets if it is negative."""
    if sign:
        return f"- {number(-value)}" if value < 0 else f"+ {number(value)}"
    return f"({number(value)})" if value < 0 else number(value)


def join_terms(terms: Sequence[str], between: str, before_dots: str = "") -> str:
    """The terms joined by `between`; of more than MAX_WRITTEN only the first ones, `before_dots`, dots and the last."""
    if len(terms) <= MAX_WRITTEN:
        return between.join(terms)
    return between.join([*terms[: MAX_WRITTEN - 1], rf"{before_dots} \dots".strip(), terms[-1]])
