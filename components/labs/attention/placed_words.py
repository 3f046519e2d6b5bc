"""A few words with their positions: embedding and position rows, and what i - j becomes in each encoding."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.parts import Figure
from components.controls import form
from components.labs.maps import signed_map
from components.labs.parts import charts, say
from components.shell.text import number
from models.content import Texts
from models.labs import positions as encodings
from models.spec.knob import Knob
from models.spec.query import literal
from models.spec.settings import Settings

TEXTS = Texts("labs/attention")
KEY = "attention_words"
FEATURES = 4  # of a word's row
MIN_WORDS, MAX_WORDS = 2, 6
MAX_NAME = 12  # characters of a word on an axis
EXAMPLE = "I like pizza"
WORD = re.compile(r"[^\W\d_][\w'’-]*")
BECOMES = {  # by encoding, what the map of pairs shows
    "sinusoidal": "Position row i · row j",
    "learned": "Position row i · row j",
    "rotary": "Rotated apart, degrees",
    "relative bias": "T5's bucket",
    "alibi": "ALiBi's penalty",
}
SAID = {  # of it
    "sinusoidal": "between words, sinusoidal",
    "learned": "between words, learned",
    "rotary": "between words, rotary",
    "relative bias": "between words, relative bias",
    "alibi": "between words, alibi",
}


@dataclass(frozen=True)
class PlacedWords(Settings):
    words: Annotated[str, Knob("Words", high=60, link="words", width=416)] = EXAMPLE


def draw(kind: str, seed: int) -> None:
    typed = form.draw(PlacedWords, KEY).words
    words = WORD.findall(typed)
    if not MIN_WORDS <= len(words) <= MAX_WORDS:
        st.error(TEXTS("too few or many words", least=MIN_WORDS, most=MAX_WORDS, count=len(words), example=EXAMPLE))
        words = EXAMPLE.split()
    table = encodings.added(kind, len(words), FEATURES, seed)
    embedding = encodings.embedded(words, FEATURES)
    pairs = [_pairs("i - j", encodings.differences(len(words)), words)]
    if kind in BECOMES:
        pairs.append(_pairs(BECOMES[kind], encodings.between(kind, len(words), FEATURES, seed), words))
    if len(table):
        rows = {"Embedding": embedding, "+ Position": table, "= What enters": embedding + table}
        charts(KEY, *(_rows(title, values, words) for title, values in rows.items()), height=90 + 36 * len(words))
        charts(KEY, *pairs, height=110 + 40 * len(words))
    else:
        charts(KEY, _rows("What enters: the embedding", embedding, words), *pairs, height=110 + 40 * len(words))
    say(between_sentence(kind, words, seed))
    if again := repeated(words):
        st.caption(TEXTS("the same word twice", word=literal(again)))


def between_sentence(kind: str, words: Sequence[str], seed: int) -> str:
    """What the encoding makes of i - j, with the numbers of these words."""
    if kind not in BECOMES:
        return TEXTS("nothing between words")
    values = encodings.between(kind, len(words), FEATURES, seed)
    slow = np.degrees(encodings.angles(np.ones(1), FEATURES)[0, -1])
    ends = {
        "own": values[0, 0],
        "before": values[1, 0],
        "after": values[0, 1],
        "far": values[-1, 0],
        "second": values[1, 1],
    }
    return TEXTS(SAID[kind], slow=slow, distance=len(words) - 1, **ends)


def repeated(words: Sequence[str]) -> str:
    """The first word that stands more than once, or ""."""
    folded = [word.casefold() for word in words]
    return next((word for word, own in zip(words, folded, strict=True) if folded.count(own) > 1), "")


def _names(words: Sequence[str]) -> list[str]:
    """The words with their positions, so that the same word twice has two names."""
    return [f"{at} {word[:MAX_NAME]}" for at, word in enumerate(words)]


def _rows(title: str, values: np.ndarray, words: Sequence[str]) -> Figure:
    """A row of features for each word."""
    features = [str(at + 1) for at in range(FEATURES)]
    return _map(title, values, _names(words), features, x="feature", y="")


def _pairs(title: str, values: np.ndarray, words: Sequence[str]) -> Figure:
    """A number for each pair of words, the query's down, the key's across."""
    names = _names(words)
    return _map(title, values, names, names, x="key, j", y="query, i")


def _map(title: str, values: np.ndarray, rows: Sequence[str], columns: Sequence[str], **axes: Any) -> Figure:
    texts = [[number(value, 3) for value in row] for row in values]
    how: dict[str, Any] = {"rows": rows, "columns": columns, "texts": texts, "every_name": True, "bar": False}
    return signed_map(title, values=values, unit="", **how, **axes)
