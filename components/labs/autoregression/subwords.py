"""Pieces of words as tokens: byte-pair encoding of the book, and how it splits a text."""

from dataclasses import dataclass
from typing import Annotated

import streamlit as st

from components.controls import form
from components.labs.autoregression.text import NAME
from components.labs.parts import say
from components.shell.text import named_table
from models.content import Texts
from models.insight.lens import shown
from models.labs.subwords import MAX_JOINS, READ, learned, pieces
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/autoregression")
EXAMPLE = "The whale was unbelievably white."
LATEST = 8  # joins that are listed


@dataclass(frozen=True)
class Subwords(Settings):
    """A text, and how many joins of the book's characters split it."""

    subword_text: Annotated[str, Knob("Text to split", high=80, link="pieces")] = EXAMPLE
    joins: Annotated[int, Knob("Joins", high=MAX_JOINS, step=10, control="slider")] = 200


def draw() -> None:
    """A text and a number of joins, and the tokens that come of them."""
    drawn = form.draw(Subwords, NAME)
    text, count = drawn.subword_text or EXAMPLE, drawn.joins
    joins, symbols = learned()
    tokens = pieces(text, count)
    st.code(" | ".join(map(_visible, tokens)), language=None, wrap_lines=True)
    pairs = {"pairs": len(tokens) ** 2, "all_pairs": len(text) ** 2}
    vocabulary = {"symbols": symbols, "vocabulary": symbols + count}
    say(TEXTS("pieces", characters=len(text), tokens=len(tokens), **pairs, **vocabulary))
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
