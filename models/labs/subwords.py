"""Byte-pair encoding of the book: which neighbours are joined, and how a text is split afterwards (Sennrich 2016)."""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

MAX_JOINS = 300  # joins that are learned
READ = 30_000  # characters of the book from which they are
# Not from `models.tasks.book`, which needs torch.
BOOK = Path(__file__).parents[1] / "tasks" / "data" / "moby_dick.txt"


@dataclass(frozen=True)
class Join:
    """Two neighbouring pieces that become one, and how often they stood side by side."""

    left: str
    right: str
    count: int


@cache
def learned() -> tuple[tuple[Join, ...], int]:
    """The first MAX_JOINS joins in order, and the number of the book's characters, from which they start."""
    book = BOOK.read_text(encoding="ascii")
    words = Counter(_words(book[:READ]))
    split = {word: list(word) for word in words}
    counts: Counter[tuple[str, str]] = Counter()
    inside: dict[tuple[str, str], set[str]] = {}
    for word, pieces in split.items():
        for pair in pairwise(pieces):
            counts[pair] += words[word]
            inside.setdefault(pair, set()).add(word)
    joins: list[Join] = []
    for _ in range(MAX_JOINS):
        pair = max(counts, key=lambda one: (counts[one], one))
        joins.append(Join(*pair, counts[pair]))
        for word in inside.pop(pair):
            before = split[word]
            split[word] = after = _joined(before, pair)
            for old in pairwise(before):
                counts[old] -= words[word]
            for new in pairwise(after):
                counts[new] += words[word]
                if new != pair:
                    inside.setdefault(new, set()).add(word)
        del counts[pair]
    return tuple(joins), len(set(book))


def pieces(text: str, joins: int) -> list[str]:
    """A text as its tokens after the first `joins` joins; a word's token begins with the space before it."""
    found: list[str] = []
    for word in _words(text):
        split = list(word)
        for join in learned()[0][:joins]:
            split = _joined(split, (join.left, join.right))
        found += split
    return found


def _words(text: str) -> list[str]:
    """The text cut before every space, so that no join crosses from word to word."""
    first, *rest = text.replace("\n", " ").split(" ")
    return [word for word in (first, *(f" {one}" for one in rest)) if word]


def _joined(split: list[str], pair: tuple[str, str]) -> list[str]:
    """The pieces with every occurrence of the pair, from the left, as one piece."""
    found: list[str] = []
    at = 0
    while at < len(split):
        both = tuple(split[at : at + 2]) == pair
        found.append(split[at] + split[at + 1] if both else split[at])
        at += 2 if both else 1
    return found
