"""How a token becomes a row of numbers: id, one-hot row, the table's row, and what enters the stream."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.controls import form
from components.instruments.panel import InstrumentPanel
from components.labs.autoregression.text import NAME, place
from components.shell.text import badge, named_table, number, vector
from models.answers import LOOKUP, Lookup
from models.insight.lens import shown
from models.spec.knob import Knob
from models.spec.settings import Settings

ENTRIES = 6  # of a row that are written out
NEAREST = 4  # symbols
GPT2 = 50_257, 768  # symbols and features of the smallest


@dataclass(frozen=True)
class LookUp(Settings):
    """Whether a token's row is shown."""

    rows: Annotated[bool, Knob("Show how a token is looked up")] = False


def looked_up(panel: InstrumentPanel, text: str) -> None:
    """One token of the text on its way into the net."""
    if not form.draw(LookUp, NAME).rows:
        return
    found = panel.ask(LOOKUP, text=text)
    if found is None:
        return
    value = found.value
    at = place(found, text, "row")
    st.markdown(f"{steps(value, at)}  \n{counted(value)} {badge('measured')}")
    nearest, cosines = alike(value.table, int(value.ids[at]))
    named_table(
        "Most similar rows",
        {
            "symbol": [shown(value.names[one]) for one in nearest],
            "cosine with its row": [number(one, 3) for one in cosines],
            "dot product": [number(float(value.table[one] @ value.table[value.ids[at]])) for one in nearest],
        },
    )
    st.caption(
        "Before training all rows are random and similar only by chance. Only symbols that are read get a gradient. "
        "Here a token is a character or a symbol of the task. Larger nets read subwords (see Pieces of words): GPT-2 "
        f"has {GPT2[0]:,} of them, and a table of {GPT2[0]:,} x {GPT2[1]} = "
        f"{GPT2[0] * GPT2[1] / 1e6:.1f} million numbers. {badge('formula')}"
    )


def steps(value: Lookup, at: int) -> str:
    """From the symbol to the stream, with its numbers."""
    token, one, table = value.tokens[at], int(value.ids[at]), value.table
    row, enters = table[one], value.enters[at]
    lines = [
        f"**Symbol {shown(token)}** is number {one} of {len(table)} (counted from 0).",
        f"Its one-hot row has {len(table)} numbers: 1 at index {one}, 0 elsewhere. Multiplied by the table it gives "
        f"row {one}: **{_some(row)}**. The net looks this row up directly (largest difference {number(value.apart)}).",
    ]
    if len(value.position):
        lines.append(
            f"The stream starts as √½ times it, plus the row of its position, {_some(value.position[at])}: "
            f"**{_some(enters)}**. At another position the same symbol has the same row, but another is added."
        )
    else:
        lines.append("It enters the stream unchanged, the same at every position.")
    return "  \n".join(lines)


def counted(value: Lookup) -> str:
    """The size of the table, and how much of it this text reads."""
    symbols, width = value.table.shape
    used = len(set(value.ids.tolist()))
    return (
        f"The table has {symbols} x {width} = {symbols * width:,} numbers; this text of {len(value.tokens)} tokens "
        f"reads {used} of its rows."
    )


def alike(table: np.ndarray, one: int) -> tuple[list[int], list[float]]:
    """The other symbols with the most similar rows, and their cosines."""
    lengths = np.linalg.norm(table, axis=1)
    cosines = table @ table[one] / np.maximum(lengths * lengths[one], np.finfo(float).tiny)
    nearest = [int(other) for other in np.argsort(-cosines) if other != one][:NEAREST]
    return nearest, [float(cosines[other]) for other in nearest]


def _some(row: np.ndarray) -> str:
    return vector(row[:ENTRIES], 3)[:-1] + (", ...]" if len(row) > ENTRIES else "]")
