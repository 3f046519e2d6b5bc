"""A text continued by words or pieces of words: the one that most often followed the last ones in the book."""

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from models.labs.subwords import BOOK, MAX_MERGES, pieces

WORDS, PIECES = "words", "pieces of words"
WORD = re.compile(r" ?(?:[A-Za-z']+|[^\sA-Za-z])")
FULL_STOP = "."  # ends a text
SHOWN = 3  # candidates of a step


@dataclass(frozen=True)
class NextToken:
    """The last tokens of the text that occur in the book with one after them, and what followed, most frequent first.

    `followed`: up to SHOWN tokens with their counts. `count`: how often the last tokens occur.
    """

    last: tuple[str, ...]
    followed: tuple[tuple[str, int], ...]
    count: int


def units(text: str, unit: str) -> list[str]:
    """Tokens of a text, each with the space before it."""
    spaced = " ".join(text.split())
    return WORD.findall(spaced) if unit == WORDS else pieces(spaced, MAX_MERGES)


def steps_from(text: str, unit: str, *, look_back: int, most: int) -> list[NextToken]:
    """Steps that each append the most frequent follower of the last `look_back` tokens, or of fewer if these are new.

    They end at a full stop, or after `most`.
    """
    tokens = units(text, unit)
    steps: list[NextToken] = []
    while len(steps) < most and (not steps or tokens[-1] != FULL_STOP):
        steps.append(_step(tokens, unit, look_back))
        tokens.append(steps[-1].followed[0][0])
    return steps


def _step(tokens: list[str], unit: str, look_back: int) -> NextToken:
    ids, names = _book(unit)
    for length in range(min(look_back, len(tokens)), -1, -1):
        last = tuple(tokens[len(tokens) - length :])
        matches = np.ones(len(ids) - length, bool)
        for place, token in enumerate(last):
            matches &= ids[place : place + len(matches)] == names.get(token, -1)
        if matches.any():
            break
    counts = np.bincount(ids[length:][matches], minlength=len(names))
    best = np.argsort(-counts, kind="stable")[:SHOWN]
    symbols = list(names)
    followed = tuple((symbols[token], int(counts[token])) for token in best if counts[token])
    return NextToken(last, followed, int(counts.sum()))


@cache
def _book(unit: str) -> tuple[np.ndarray, dict[str, int]]:
    """The book's tokens as numbers, and the number of each token."""
    tokens = units(BOOK.read_text(encoding="ascii"), unit)
    names = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    return np.array([names[token] for token in tokens]), names
