"""How a token becomes a row of numbers, and which rows are most similar."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.controls import form
from components.instruments.panel import InstrumentPanel
from components.labs.parts import draw_sentence, number_cells
from components.labs.prompts import KEY, ReadText, choose_position
from components.shell.text import badge, named_table, vector
from exhibits.labs.autoregression.lookup.answer import LOOKUP, Lookup
from models.content import Texts
from models.insight.lens import visible_token
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/autoregression/lookup")
MAX_WRITTEN_ENTRIES = 6  # of a row
NEAREST_SYMBOLS = 4  # rows in the table of similar rows
# The table of the smallest GPT-2.
GPT2_SYMBOLS = 50_257
GPT2_WIDTH = 768


@dataclass(frozen=True)
class LookUp(Settings):
    rows: Annotated[bool, Knob("Show how a token is looked up")] = False


def draw(panel: InstrumentPanel, read: ReadText) -> None:
    """Draws how a token of the text becomes a row of numbers, and which rows are most similar."""
    if not form.draw(LookUp, KEY).rows:
        return
    answer = panel.ask(LOOKUP, text=read.text)
    if answer is None:
        return
    value = answer.value
    position = choose_position(answer, read.text, "row")
    draw_sentence(lookup_text(value, position), "measured")
    symbol = int(value.ids[position])
    nearest, cosines = nearest_rows(value.table, symbol)
    named_table(
        "Most similar rows",
        {
            "symbol": [visible_token(value.names[row]) for row in nearest],
            "cosine with its row": number_cells(cosines, 3),
            "dot product": number_cells(value.table[row] @ value.table[symbol] for row in nearest),
        },
    )
    gpt2 = {"symbols": GPT2_SYMBOLS, "width": GPT2_WIDTH, "millions": GPT2_SYMBOLS * GPT2_WIDTH / 1e6}
    st.caption(TEXTS("similar rows", badge=badge("formula"), **gpt2))


def nearest_rows(table: np.ndarray, symbol: int) -> tuple[list[int], list[float]]:
    """The other symbols with the most similar rows, and their cosines."""
    lengths = np.linalg.norm(table, axis=1)
    cosines = table @ table[symbol] / np.maximum(lengths * lengths[symbol], np.finfo(float).tiny)
    nearest = [int(other) for other in np.argsort(-cosines) if other != symbol][:NEAREST_SYMBOLS]
    return nearest, [float(cosines[other]) for other in nearest]


def lookup_text(value: Lookup, position: int) -> str:
    """How a symbol enters the stream, in numbers, and how much of the table this text reads."""
    row = int(value.ids[position])
    symbols, width = value.table.shape
    enters = TEXTS("enters unchanged")
    if len(value.position):
        added = _first_entries(value.position[position])
        stream = _first_entries(value.enters[position])
        enters = TEXTS("enters with a position", position=added, enters=stream)
    table = {"symbols": symbols, "width": width, "numbers": symbols * width, "used": len(set(value.ids.tolist()))}
    entries = _first_entries(value.table[row])
    token = {"symbol": visible_token(value.tokens[position]), "id": row, "row": entries, "enters": enters}
    lines = TEXTS("lookup", tokens=len(value.tokens), apart=value.apart, **table, **token)
    return lines.replace("\n\n", "  \n")


def _first_entries(row: np.ndarray) -> str:
    return vector(row[:MAX_WRITTEN_ENTRIES], 3)[:-1] + (", ...]" if len(row) > MAX_WRITTEN_ENTRIES else "]")
