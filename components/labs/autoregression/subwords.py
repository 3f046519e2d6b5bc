"""Pieces of words as tokens: byte-pair encoding of the book, and how it splits a text."""

from dataclasses import dataclass
from typing import Annotated

import streamlit as st

from components.controls import form
from components.labs.autoregression.text import NAME
from components.shell.text import badge, named_table
from models.insight.lens import shown
from models.labs.subwords import MAX_JOINS, READ, Join, learned, pieces
from models.spec.knob import Knob
from models.spec.settings import Settings

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
    found = pieces(text, count)
    st.code(" | ".join(_seen(one) for one in found), language=None, wrap_lines=True)
    st.markdown(f"**{said(text, len(found), count, symbols)}** {badge('formula')}")
    with st.expander("How the pieces are found"):
        st.markdown(
            "Byte-pair encoding starts from single characters and joins the most frequent pair of neighbours, again "
            "and again: frequent words become one token, rare ones stay in pieces (Sennrich 2016, 1508.07909). These "
            f"joins are learned from the first {READ:,} characters of the book; a space belongs to the word after it. "
            "The price: embedding and output head need a row for every token."
        )
        named_table("Latest joins", _table(joins, count))


def said(text: str, tokens: int, joins: int, symbols: int) -> str:
    """How many tokens the text has, and what that changes for a net."""
    return (
        f"{len(text)} characters become {tokens} tokens, so attention scores {tokens * tokens:,} pairs instead of "
        f"{len(text) ** 2:,}; the vocabulary grows from {symbols} to {symbols + joins} tokens."
    )


def _seen(piece: str) -> str:
    """A piece with its spaces visible."""
    return "".join(shown(one) for one in piece)


def _table(joins: tuple[Join, ...], count: int) -> dict[str, list[object]]:
    """The last joins that are in use."""
    first = max(0, count - LATEST)
    used = list(enumerate(joins[first:count], start=first + 1))
    return {
        "join": [at for at, _ in used],
        "neighbours": [f"{_seen(one.left)} + {_seen(one.right)}" for _, one in used],
        "one token": [_seen(one.left + one.right) for _, one in used],
        "side by side": [one.count for _, one in used],
    }
