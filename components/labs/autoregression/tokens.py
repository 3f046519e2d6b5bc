"""How a text becomes tokens by byte-pair encoding, and how a token becomes a row of numbers."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.controls import form
from components.instruments.panel import InstrumentPanel
from components.labs.autoregression.text import KEY, choose_position
from components.labs.parts import draw_finding, draw_sentence, number_cells
from components.shell.text import badge, named_table, vector
from models.answers import LOOKUP, Lookup
from models.content import Texts
from models.insight.lens import visible_token
from models.labs.subwords import MAX_MERGES, TRAINING_CHARACTERS, learn_merges, pieces
from models.labs.word_by_word import FULL_STOP, PIECES, WORDS, steps_from, units
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/autoregression")
MAX_WRITTEN_ENTRIES = 6  # of a row
NEAREST_SYMBOLS = 4  # rows in the table of similar rows
# The table of the smallest GPT-2.
GPT2_SYMBOLS = 50_257
GPT2_WIDTH = 768
EXAMPLE = "The whale was unbelievably white."
MAX_LISTED_JOINS = 8
BEGINNING = "The sun was setting over the mountains, and"


@dataclass(frozen=True)
class LookUp(Settings):
    rows: Annotated[bool, Knob("Show how a token is looked up")] = False


@dataclass(frozen=True)
class Subwords(Settings):
    subword_text: Annotated[str, Knob("Text to split", high=80, link="pieces")] = EXAMPLE
    joins: Annotated[int, Knob("Joins", high=MAX_MERGES, step=10, control="slider")] = 200


@dataclass(frozen=True)
class WordByWord(Settings):
    columns = (3,)

    beginning: Annotated[str, Knob("Text to continue", high=120, link="beginning")] = BEGINNING
    unit: Annotated[str, Knob("Tokens are", choices=dict.fromkeys((WORDS, PIECES)), control="segments")] = WORDS
    look_back: Annotated[int, Knob("Tokens looked back", high=4, link="look-back", control="slider")] = 2
    most: Annotated[int, Knob("Most tokens to add", low=1, high=20, link="most", control="slider")] = 8


def draw_lookup(panel: InstrumentPanel, text: str) -> None:
    """Draws how a token of the text becomes a row of numbers, and which rows are most similar."""
    if not form.draw(LookUp, KEY).rows:
        return
    answer = panel.ask(LOOKUP, text=text)
    if answer is None:
        return
    value = answer.value
    position = choose_position(answer, text, "row")
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


def draw_pieces() -> None:
    """Draws a text split into tokens by byte-pair encoding, and the latest joins."""
    settings = form.draw(Subwords, KEY)
    text = settings.subword_text or EXAMPLE
    count = settings.joins
    joins, symbols = learn_merges()
    tokens = pieces(text, count)
    st.code(" | ".join(map(_visible, tokens)), language=None, wrap_lines=True)
    pairs = {"pairs": len(tokens) ** 2, "all_pairs": len(text) ** 2}
    vocabulary = {"symbols": symbols, "vocabulary": symbols + count}
    draw_finding(TEXTS("pieces", characters=len(text), tokens=len(tokens), **pairs, **vocabulary))
    with st.expander("How the pieces are found"):
        st.markdown(TEXTS("byte pairs", read=TRAINING_CHARACTERS))
        latest = list(enumerate(joins[:count], start=1))[-MAX_LISTED_JOINS:]
        columns = {
            "join": [i for i, _ in latest],
            "neighbours": [f"{_visible(join.left)} + {_visible(join.right)}" for _, join in latest],
            "one token": [_visible(join.left + join.right) for _, join in latest],
            "side by side": [join.count for _, join in latest],
        }
        named_table("Latest joins", columns)


def draw_word_by_word() -> None:
    """Draws a text continued token by token, each the most frequent follower of the last ones in the book."""
    st.subheader(TEXTS("word by word"), anchor=False)
    settings = form.draw(WordByWord, KEY)
    beginning = settings.beginning.strip() or BEGINNING
    steps = steps_from(beginning, settings.unit, look_back=settings.look_back, most=settings.most)
    added = [step.followed[0][0] for step in steps]
    st.code(" | ".join(map(_visible, [*units(beginning, settings.unit), *added])), language=None, wrap_lines=True)
    columns = {
        "looks back to": ["".join(step.last).strip() or "nothing" for step in steps],
        "most often followed by": [
            ", ".join(f"“{token.strip()}” {count}" for token, count in step.followed) for step in steps
        ],
        "of": [step.count for step in steps],
    }
    named_table("Token by token", {"step": list(range(1, len(steps) + 1))} | columns)
    stop = TEXTS("stops at a full stop" if added[-1] == FULL_STOP else "stops at the most tokens", count=len(steps))
    st.caption(TEXTS("counts, no net", stop=stop, badge=badge("measured")))


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


def _visible(piece: str) -> str:
    """A piece with its spaces visible."""
    return "".join(map(visible_token, piece))
