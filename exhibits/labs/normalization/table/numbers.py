"""Example tables, some with slips that many tutorials copy; sets of cells, and a token's arithmetic in LaTeX.

Right numbers are computed, never stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.content import Texts
from models.labs.normalization import CELL, METHODS, NormedTable

TEXTS = Texts("labs/normalization/table")


@dataclass(frozen=True)
class ExampleTable:
    """A table (tokens by features), the method to show with it, names, and the section of its note."""

    values: np.ndarray
    method: str
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    section: str = ""

    @property
    def note(self) -> str:
        return TEXTS(self.section) if self.section else ""


WILD = "wild values"
WILDNESS_FACTORS = tuple(10**power for power in range(7))
WILD_FEATURES = 8
WILD_SHIFT = 1000.0  # mean of the last token


def wild_table(wildness: int = 1) -> np.ndarray:
    """Tokens (4, 8) of std 0.01 / wildness, 1, 100 * wildness, and of std 1 around WILD_SHIFT."""
    drawn = np.random.default_rng(0).normal(size=(4, WILD_FEATURES))
    centred = drawn - drawn.mean(1, keepdims=True)
    spreads = np.array([0.01 / wildness, 1.0, 100.0 * wildness, 1.0])
    shifts = np.array([0.0, 0.0, 0.0, WILD_SHIFT])
    exact = centred / centred.std(1, keepdims=True) * spreads[:, None] + shifts[:, None]
    return np.array(
        [[float(f"{value:.6g}") for value in row] for row in exact]
    )  # the digits of a cell and of an address


def _table(*rows: tuple[float, ...]) -> np.ndarray:
    return np.array(rows, float)


TABLES: dict[str, ExampleTable] = {
    "one token": ExampleTable(_table((1.5, 2.0, -0.5)), "layer norm"),
    "three tokens, layer norm": ExampleTable(_table((1, 2, -1), (3, 1, 0.5), (2, -1, 1.5)), "layer norm"),
    WILD: ExampleTable(wild_table(), "layer norm", ("tiny", "plain", "wild", "shifted"), section="wild values"),
    "three tokens, batch norm": ExampleTable(
        _table((1, 2, -1), (3, 1, 0.5), (2, -1, 1.5)),
        "batch norm",
        section="printed variance",
    ),
    "salary and bonus": ExampleTable(
        _table((1.0e6, 15), (1.5e6, 12), (2.0e6, 10)), "min-max", ("A", "B", "C"), ("salary", "bonus")
    ),
    "four numbers": ExampleTable(
        _table((10, 10_000), (12, 12_000), (14, 14_000), (16, 16_000)),
        "z-score",
        columns=("in kilograms", "in grams"),
        section="two units",
    ),
    "six tokens and two pads": ExampleTable(
        _table(
            (0.1, 0.2, 0.3, 0.4),
            (0.11, 0.22, 0.33, 0.44),
            (0, 0, 0, 0),
            (0, 0, 0, 0),
            (0.13, 0.78, -0.7, -0.15),
            (0.14, 0.8, -0.75, -0.15),
            (0.11, 0.28, -0.17, -0.15),
            (0.13, 0.21, -0.12, -0.11),
        ),
        "batch norm",
        ("Hi", "Hello", "pad 1", "pad 2", "My", "Name", "Is", "Aman"),
        section="pads",
    ),
    "two tokens": ExampleTable(
        _table((1, 2, -1), (3, 1, 0.5)),
        "batch norm",
        section="two tokens",
    ),
}


def method_note(method: str) -> str:
    return TEXTS(method)


def cells_by_set(normed: NormedTable, method: str) -> list[np.ndarray]:
    """The cells of each set as pairs of row and column (N, 2), or of each token if cells share no statistics."""
    labels = np.indices(normed.shared.shape)[0] if METHODS[method].shares == CELL else normed.shared
    return [np.argwhere(labels == label) for label in dict.fromkeys(labels.ravel().tolist())]


def bands(
    normed: NormedTable, method: str, settings: dict[str, Any]
) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Low end, middle and high end of each set's band, before and after the norm; empty without statistics.

    Before the norm, the middle is the centre that it subtracts, and either end is its divisor away. For min-max, the
    band covers the range of the set, and its middle is the low end.
    """
    if METHODS[method].shares == CELL:
        return [((), ())] * len(normed.shared)
    ends = np.array([0.0 if METHODS[method].spread == "range" else -1.0, 0.0, 1.0])
    output_band = tuple((settings["bias"] + settings["gain"] * ends).tolist())
    pairs = []
    for cells in cells_by_set(normed, method):
        cell = tuple(cells[0])  # all cells of a set have the same statistics
        input_band = tuple((normed.centre[cell] + ends * normed.scale[cell]).tolist())
        pairs.append((input_band, output_band))
    return pairs


MAX_WRITTEN = 4  # sets, cells and terms that are written out; the table has all


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
        name = r"\tanh" if method == "dynamic tanh" else r"\operatorname{erf}"
        shift = f" {signed(settings['shift'], sign=True)}" if method == "dynamic erf" else ""
        raw = rf"{name}({number(settings['alpha'])} \cdot {signed(x)}{shift})"
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
