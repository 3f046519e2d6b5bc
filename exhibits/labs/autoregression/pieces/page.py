"""How a text becomes tokens by byte-pair encoding."""

from dataclasses import dataclass
from typing import Annotated

import streamlit as st

from components.controls import form
from components.instruments.panel import InstrumentPanel
from components.labs.parts import draw_finding
from components.labs.prompts import KEY, visible_piece
from components.shell.text import named_table
from models.content import Texts
from models.labs.subwords import MAX_MERGES, TRAINING_CHARACTERS, learn_merges, pieces
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/autoregression/pieces")

EXAMPLE = "The whale was unbelievably white."
MAX_LISTED_JOINS = 8


@dataclass(frozen=True)
class Subwords(Settings):
    subword_text: Annotated[str, Knob("Text to split", high=80, link="pieces")] = EXAMPLE
    joins: Annotated[int, Knob("Joins", high=MAX_MERGES, step=10, control="slider")] = 200


def draw(_panel: InstrumentPanel) -> None:
    """Draws a text split into tokens by byte-pair encoding, and the latest joins."""
    settings = form.draw(Subwords, KEY)
    text = settings.subword_text or EXAMPLE
    count = settings.joins
    joins, symbols = learn_merges()
    tokens = pieces(text, count)
    st.code(" | ".join(map(visible_piece, tokens)), language=None, wrap_lines=True)
    pairs = {"pairs": len(tokens) ** 2, "all_pairs": len(text) ** 2}
    vocabulary = {"symbols": symbols, "vocabulary": symbols + count}
    draw_finding(TEXTS("pieces", characters=len(text), tokens=len(tokens), **pairs, **vocabulary))
    with st.expander("How the pieces are found"):
        st.markdown(TEXTS("byte pairs", read=TRAINING_CHARACTERS))
        latest = list(enumerate(joins[:count], start=1))[-MAX_LISTED_JOINS:]
        columns = {
            "join": [i for i, _ in latest],
            "neighbours": [f"{visible_piece(join.left)} + {visible_piece(join.right)}" for _, join in latest],
            "one token": [visible_piece(join.left + join.right) for _, join in latest],
            "side by side": [join.count for _, join in latest],
        }
        named_table("Latest joins", columns)
