"""A text continued token by token, each the most frequent follower of the last ones in the book."""

from dataclasses import dataclass
from typing import Annotated

import streamlit as st

from components.controls import form
from components.instruments.panel import InstrumentPanel
from components.labs.prompts import KEY, visible_piece
from components.shell.text import badge, named_table
from exhibits.labs.autoregression.word_by_word.numbers import FULL_STOP, PIECES, WORDS, steps_from, units
from models.content import Texts
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/autoregression/word_by_word")

BEGINNING = "The sun was setting over the mountains, and"


@dataclass(frozen=True)
class WordByWord(Settings):
    columns = (3,)

    beginning: Annotated[str, Knob("Text to continue", high=120, link="beginning")] = BEGINNING
    unit: Annotated[str, Knob("Tokens are", choices=dict.fromkeys((WORDS, PIECES)), control="segments")] = WORDS
    look_back: Annotated[int, Knob("Tokens looked back", high=4, link="look-back", control="slider")] = 2
    most: Annotated[int, Knob("Most tokens to add", low=1, high=20, link="most", control="slider")] = 8


def draw(_panel: InstrumentPanel) -> None:
    """Draws a text continued token by token, each the most frequent follower of the last ones in the book."""
    st.subheader(TEXTS("word by word"), anchor=False)
    settings = form.draw(WordByWord, KEY)
    beginning = settings.beginning.strip() or BEGINNING
    steps = steps_from(beginning, settings.unit, look_back=settings.look_back, most=settings.most)
    added = [step.followed[0][0] for step in steps]
    st.code(" | ".join(map(visible_piece, [*units(beginning, settings.unit), *added])), language=None, wrap_lines=True)
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
