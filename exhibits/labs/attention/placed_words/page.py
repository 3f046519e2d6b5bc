"""A few words with their positions: embedding, position rows, and how each encoding turns i - j into numbers."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.parts import Figure
from components.controls import form
from components.labs.maps import signed_map
from components.labs.parts import draw_charts, draw_finding
from exhibits.labs.attention.placed_words.numbers import pairwise_values, relative_positions, word_embeddings
from models.content import Texts
from models.labs import positions as encodings
from models.spec.knob import Knob
from models.spec.query import escape_markdown
from models.spec.settings import Settings

TEXTS = Texts("labs/attention/placed_words")
KEY = "attention_words"
FEATURES = 4  # numbers in a word's row
MIN_WORDS, MAX_WORDS = 2, 6
MAX_NAME_CHARACTERS = 12  # of a word on an axis
EXAMPLE = "I like pizza"
WORD_PATTERN = re.compile(r"[^\W\d_][\w'’-]*")
PAIR_TITLES = {  # by encoding
    "sinusoidal": "Position row i · row j",
    "learned": "Position row i · row j",
    "rotary": "Rotated apart, degrees",
    "relative bias": "T5's bucket",
    "alibi": "ALiBi's penalty",
}
PAIR_SENTENCES = {
    "sinusoidal": "between words, sinusoidal",
    "learned": "between words, learned",
    "rotary": "between words, rotary",
    "relative bias": "between words, relative bias",
    "alibi": "between words, alibi",
}

# Options of maps whose cells show their numbers.
NUMBERS_IN_CELLS: dict[str, Any] = {"digits": 3, "every_name": True, "bar": False}


@dataclass(frozen=True)
class PlacedWords(Settings):
    words: Annotated[str, Knob("Words", high=60, link="words", width=416)] = EXAMPLE


def draw(kind: str, seed: int) -> None:
    """Draws a field for the words, and maps of their rows and pairs under the encoding `kind`."""
    words = WORD_PATTERN.findall(form.draw(PlacedWords, KEY).words)
    if not MIN_WORDS <= len(words) <= MAX_WORDS:
        st.error(TEXTS("too few or many words", least=MIN_WORDS, most=MAX_WORDS, count=len(words), example=EXAMPLE))
        words = EXAMPLE.split()
    position_rows = encodings.position_rows(kind, len(words), FEATURES, seed)
    embedding = word_embeddings(words, FEATURES)
    maps = [_pair_map("i - j", relative_positions(len(words)), words)]
    if kind in PAIR_TITLES:
        maps.append(_pair_map(PAIR_TITLES[kind], pairwise_values(kind, len(words), FEATURES, seed), words))
    if len(position_rows):
        sum_of_rows = {"Embedding": embedding, "+ Position": position_rows, "= What enters": embedding + position_rows}
        row_maps = [_row_map(title, values, words) for title, values in sum_of_rows.items()]
        draw_charts(KEY, *row_maps, height=90 + 36 * len(words))
    else:
        maps.insert(0, _row_map("What enters: the embedding", embedding, words))
    draw_charts(KEY, *maps, height=110 + 40 * len(words))
    draw_finding(between_sentence(kind, words, seed))
    repeated = repeated_word(words)
    if repeated:
        st.caption(TEXTS("the same word twice", word=escape_markdown(repeated)))


def between_sentence(kind: str, words: Sequence[str], seed: int) -> str:
    """How the encoding turns i - j into numbers, with those of these words."""
    if kind not in PAIR_TITLES:
        return TEXTS("nothing between words")
    values = pairwise_values(kind, len(words), FEATURES, seed)
    slow = np.degrees(encodings.angles(np.ones(1), FEATURES)[0, -1])
    ends = {
        "own": values[0, 0],
        "before": values[1, 0],
        "after": values[0, 1],
        "far": values[-1, 0],
        "second": values[1, 1],
    }
    return TEXTS(PAIR_SENTENCES[kind], slow=slow, distance=len(words) - 1, **ends)


def repeated_word(words: Sequence[str]) -> str:
    """The first word that occurs more than once, or ""."""
    counts = Counter(word.casefold() for word in words)
    return next((word for word in words if counts[word.casefold()] > 1), "")


def _names(words: Sequence[str]) -> list[str]:
    """The words with their positions, so that the same word twice has two names."""
    return [f"{i} {word[:MAX_NAME_CHARACTERS]}" for i, word in enumerate(words)]


def _row_map(title: str, values: np.ndarray, words: Sequence[str]) -> Figure:
    """A row of features for each word."""
    columns = [str(i + 1) for i in range(FEATURES)]
    return signed_map(title, rows=_names(words), columns=columns, values=values, x="feature", **NUMBERS_IN_CELLS)


def _pair_map(title: str, values: np.ndarray, words: Sequence[str]) -> Figure:
    """A number for each pair of words, the query's down, the key's across."""
    names = _names(words)
    return signed_map(title, rows=names, columns=names, values=values, x="key, j", y="query, i", **NUMBERS_IN_CELLS)
