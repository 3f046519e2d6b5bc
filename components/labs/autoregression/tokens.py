"""How a text becomes tokens by byte-pair encoding, and how a token becomes a row of numbers."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.controls import form
from components.instruments.panel import InstrumentPanel
from components.labs.autoregression.text import KEY, place
from components.labs.parts import draw_finding
from components.shell.text import badge, named_table, number, vector
from models.answers import LOOKUP, Lookup
from models.content import Texts
from models.insight.lens import shown
from models.labs.subwords import MAX_JOINS, READ, learned, pieces
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/autoregression")
ENTRIES = 6  # of a row that are written out
NEAREST = 4  # symbols
GPT2 = 50_257, 768  # symbols and features of the smallest
EXAMPLE = "The whale was unbelievably white."
LATEST = 8  # joins that are listed


@dataclass(frozen=True)
class LookUp(Settings):
    rows: Annotated[bool, Knob("Show how a token is looked up")] = False


def looked_up(panel: InstrumentPanel, text: str) -> None:
    """One token of the text on its way into the net."""
    if not form.draw(LookUp, KEY).rows or (answer := panel.ask(LOOKUP, text=text)) is None:
        return
    value = answer.value
    at = place(answer, text, "row")
    st.markdown(f"{steps(value, at)} {badge('measured')}")
    own = int(value.ids[at])
    nearest, cosines = alike(value.table, own)
    named_table(
        "Most similar rows",
        {
            "symbol": [shown(value.names[row]) for row in nearest],
            "cosine with its row": [number(cosine, 3) for cosine in cosines],
            "dot product": [number(float(value.table[row] @ value.table[own])) for row in nearest],
        },
    )
    symbols, width = GPT2
    millions = symbols * width / 1e6
    st.caption(TEXTS("similar rows", symbols=symbols, width=width, millions=millions, badge=badge("formula")))


def steps(value: Lookup, at: int) -> str:
    """From the symbol to the stream, with its numbers, and how much of the table this text reads."""
    row, (symbols, width) = int(value.ids[at]), value.table.shape
    enters = TEXTS("enters unchanged")
    if len(value.position):
        position, stream = _begin(value.position[at]), _begin(value.enters[at])
        enters = TEXTS("enters with a position", position=position, enters=stream)
    table = {"symbols": symbols, "width": width, "numbers": symbols * width, "used": len(set(value.ids.tolist()))}
    token = {"symbol": shown(value.tokens[at]), "id": row, "row": _begin(value.table[row]), "enters": enters}
    lines = TEXTS("lookup", tokens=len(value.tokens), apart=value.apart, **table, **token)
    return lines.replace("\n\n", "  \n")


def alike(table: np.ndarray, own: int) -> tuple[list[int], list[float]]:
    """The other symbols with the most similar rows, and their cosines."""
    lengths = np.linalg.norm(table, axis=1)
    cosines = table @ table[own] / np.maximum(lengths * lengths[own], np.finfo(float).tiny)
    nearest = [int(other) for other in np.argsort(-cosines) if other != own][:NEAREST]
    return nearest, [float(cosines[other]) for other in nearest]


def _begin(row: np.ndarray) -> str:
    return vector(row[:ENTRIES], 3)[:-1] + (", ...]" if len(row) > ENTRIES else "]")


@dataclass(frozen=True)
class Subwords(Settings):
    subword_text: Annotated[str, Knob("Text to split", high=80, link="pieces")] = EXAMPLE
    joins: Annotated[int, Knob("Joins", high=MAX_JOINS, step=10, control="slider")] = 200


def draw_pieces() -> None:
    drawn = form.draw(Subwords, KEY)
    text, count = drawn.subword_text or EXAMPLE, drawn.joins
    joins, symbols = learned()
    tokens = pieces(text, count)
    st.code(" | ".join(map(_visible, tokens)), language=None, wrap_lines=True)
    pairs = {"pairs": len(tokens) ** 2, "all_pairs": len(text) ** 2}
    vocabulary = {"symbols": symbols, "vocabulary": symbols + count}
    draw_finding(TEXTS("pieces", characters=len(text), tokens=len(tokens), **pairs, **vocabulary))
    with st.expander("How the pieces are found"):
        st.markdown(TEXTS("byte pairs", read=READ))
        latest = list(enumerate(joins[:count], start=1))[-LATEST:]
        columns = {
            "join": [at for at, _ in latest],
            "neighbours": [f"{_visible(join.left)} + {_visible(join.right)}" for _, join in latest],
            "one token": [_visible(join.left + join.right) for _, join in latest],
            "side by side": [join.count for _, join in latest],
        }
        named_table("Latest joins", columns)


def _visible(piece: str) -> str:
    """A piece with its spaces visible."""
    return "".join(map(shown, piece))
