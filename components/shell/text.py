"""Small pieces of the labs: numbers as text and as LaTeX, badges, figures, tables."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import streamlit as st

from addnorm.player.declare import BADGE_HELP
from components.shell.style import BADGES
from models.content import phrase
from models.insight import words
from models.lessons.glossary import ENTRIES

# How a word that readers may not know is spelled, and its term of the glossary.
NEW_WORDS = {
    "held-out": "held-out",
    "RMS": "rms",
    "(?:mean|sample) cosine": "sample cosine",
    "[Ff]an-in": "fan-in",
    "init gain": "init gain",
    "gain": "gain and bias",
    "seeds?": "seed",
}
LINK = r'\[[^\]]*\]\([^\s)]*(?: "[^"]*")?\)'
WRITTEN = {
    "formula": "Written here from a formula; a test computes it.",
    "recorded": "Measured when this was written; a test measures it again.",
}


def badge(kind: str, by: str = "") -> str:
    """A badge (a key of BADGES) as Markdown: hovering says by what a number was made, a press leads to the glossary."""
    return f'[:{BADGES[kind]}-badge[{phrase(kind)}]](glossary?word={kind} "{by or BADGE_HELP[kind]}")'


def typed(text: str, kind: str) -> str:
    """A text with results that were typed in, not computed here: it gets a badge if it holds a number with decimals.

    Tests compute such results again.
    """
    without_papers = re.sub(r"\d{4}\.\d{5}", "", text)
    return f"{text} {badge(kind, WRITTEN[kind])}" if re.search(r"\d\.\d|\de-\d", without_papers) else text


def explained(text: str) -> str:
    """A text whose NEW_WORDS carry the glossary's sentence where they first stand, outside of code and formulas."""
    parts = re.split(rf"(`[^`]*`|\$[^$]*\$|{LINK})", text)
    for spelled, word in NEW_WORDS.items():
        says = ENTRIES[word].senses[0].text.replace('"', "'")
        link = rf'[\g<0>](glossary?word={quote(word)} "{says}")'
        for at in range(0, len(parts), 2):
            parts[at], replaced = re.subn(rf"\b{spelled}\b", link, parts[at], count=1)
            if replaced:
                # A later word must not be looked for in this link's text.
                parts[at : at + 1] = re.split(f"({LINK})", parts[at])
                break
    return "".join(parts)


def explanation(text: str, kind: str, papers: Mapping[str, str], more: str = "Read more") -> None:
    """Why an experiment comes out as it does, and what to read about it."""
    st.markdown(explained(typed(text, kind)))
    st.caption(f"{more}: " + ", ".join(f"[{name}]({address})" for name, address in papers.items()))


def number(value: float, digits: int = 4) -> str:
    """A number as everywhere, with one digit more: the labs' numbers are worked out by hand."""
    return words.number(value, digits)


def vector(values: np.ndarray | Sequence[float], digits: int = 4) -> str:
    """A vector as text: [1, 2.5, -1]."""
    return "[" + ", ".join(number(value, digits).replace(",", "") for value in np.asarray(values, float)) + "]"


def latex(value: float, digits: int = 3) -> str:
    """A number as LaTeX, with a power of ten if it is very large or small."""
    mantissa, _, power = f"{value + 0.0:.{digits}g}".partition("e")
    if value in (np.inf, -np.inf):
        return r"\infty" if value > 0 else r"-\infty"
    return rf"{mantissa}\times10^{{{int(power)}}}" if power else mantissa


def named_table(title: str, rows: dict[str, Any] | pd.DataFrame, height: int | str = "auto") -> None:
    """Draws a table under its accessible name."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    st.dataframe(frame, alt=f"{title}, table", hide_index=True, height=height)  # type: ignore[arg-type]
