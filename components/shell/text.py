"""Text of the labs: numbers as text and LaTeX, badges, glossary links, tables."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import streamlit as st

from addnorm.player.declare import BADGE_HELP
from components.shell.style import BADGES
from models.insight import words
from models.lessons.glossary import ENTRIES

# Patterns of words that readers may not know, and their terms in the glossary.
EXPLAINED_WORDS = {
    "held-out": "held-out",
    "RMS": "rms",
    "(?:mean|sample) cosine": "sample cosine",
    "[Ff]an-in": "fan-in",
    "init gain": "init gain",
    "gain": "gain and bias",
    "seeds?": "seed",
}
LINK = r'\[[^\]]*\]\([^\s)]*(?: "[^"]*")?\)'
STATED_HELP = {
    "formula": "Written here from a formula; a test computes it.",
    "recorded": "Measured when this was written; a test measures it again.",
}


def badge(kind: str, by: str = "") -> str:
    """A badge (a key of BADGES) as Markdown: its tooltip says how a number was made, its link leads to the glossary."""
    return f'[:{BADGES[kind]}-badge[{kind}]](glossary?word={kind} "{by or BADGE_HELP[kind]}")'


def with_badge(text: str, kind: str) -> str:
    """A text with stated results, which tests compute again: it gets a badge if it has a number with decimals."""
    without_papers = re.sub(r"\d{4}\.\d{5}", "", text)
    return f"{text} {badge(kind, STATED_HELP[kind])}" if re.search(r"\d\.\d|\de-\d", without_papers) else text


def with_explained_words(text: str) -> str:
    """A text whose EXPLAINED_WORDS link to the glossary at their first occurrence outside of code and formulas."""
    parts = re.split(rf"(`[^`]*`|\$[^$]*\$|{LINK})", text)
    for pattern, term in EXPLAINED_WORDS.items():
        explanation = ENTRIES[term].senses[0].text.replace('"', "'")
        link = rf'[\g<0>](glossary?word={quote(term)} "{explanation}")'
        for index in range(0, len(parts), 2):
            parts[index], replacements = re.subn(rf"\b{pattern}\b", link, parts[index], count=1)
            if replacements:
                # Splits the link off, so that no later word is replaced inside it.
                parts[index : index + 1] = re.split(f"({LINK})", parts[index])
                break
    return "".join(parts)


def draw_explanation(text: str, kind: str, papers: Mapping[str, str], label: str = "Read more") -> None:
    """Draws why an experiment comes out as it does, and links to papers."""
    st.markdown(with_explained_words(with_badge(text, kind)))
    st.caption(f"{label}: " + ", ".join(f"[{name}]({address})" for name, address in papers.items()))


def number(value: float, digits: int = 4) -> str:
    """A number as on all pages but with one more digit, because visitors work out the labs' numbers by hand."""
    return words.number(value, digits)


def vector(values: np.ndarray | Sequence[float], digits: int = 4) -> str:
    """A vector as text: [1, 2.5, -1]."""
    return "[" + ", ".join(number(value, digits).replace(",", "") for value in np.asarray(values, float)) + "]"


def latex(value: float, digits: int = 3) -> str:
    """A number as LaTeX, in scientific notation if it is very large or small."""
    mantissa, _, power = f"{value + 0.0:.{digits}g}".partition("e")
    if value in (np.inf, -np.inf):
        return r"\infty" if value > 0 else r"-\infty"
    return rf"{mantissa}\times10^{{{int(power)}}}" if power else mantissa


def named_table(title: str, rows: dict[str, Any] | pd.DataFrame, height: int | str = "auto") -> None:
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    st.dataframe(frame, alt=f"{title}, table", hide_index=True, height=height)  # type: ignore[arg-type]
