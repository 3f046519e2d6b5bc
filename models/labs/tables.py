"""Example tables, some with slips that many tutorials copy. Right numbers are computed, never stored."""

from dataclasses import dataclass

import numpy as np

from models.content import Texts

TEXTS = Texts("labs/normalization")


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
