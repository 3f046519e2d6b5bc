"""Byte-pair encoding learned on the book, and the tokens that a text splits into (Sennrich 2016, 1508.07909)."""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

MAX_MERGES = 300
TRAINING_CHARACTERS = 30_000  # the part of the book from which the merges are learned
# Not from `models.tasks.book`, which needs torch.
BOOK = Path(__file__).parents[1] / "tasks" / "data" / "moby_dick.txt"


@dataclass(frozen=True)
class Merge:
    """Two neighbouring pieces that become one, and how often they were neighbours."""

    left: str
    right: str
    count: int


@cache
def learn_merges() -> tuple[tuple[Merge, ...], int]:
    """The first MAX_MERGES merges in order, and the size of the initial vocabulary: the book's distinct characters."""
    book = BOOK.read_text(encoding="ascii")
    words = Counter(_words(book[:TRAINING_CHARACTERS]))
    pieces_of = {word: list(word) for word in words}
    counts: Counter[tuple[str, str]] = Counter()
    words_with: dict[tuple[str, str], set[str]] = {}
    for word, pieces in pieces_of.items():
        for pair in pairwise(pieces):
            counts[pair] += words[word]
            words_with.setdefault(pair, set()).add(word)
    merges: list[Merge] = []
    for _ in range(MAX_MERGES):
        pair = max(counts, key=lambda candidate: (counts[candidate], candidate))
        merges.append(Merge(*pair, counts[pair]))
        for word in words_with.pop(pair):
            for old_pair in pairwise(pieces_of[word]):
                counts[old_pair] -= words[word]
            pieces_of[word] = _merge_pair(pieces_of[word], pair)
            for new_pair in pairwise(pieces_of[word]):
                counts[new_pair] += words[word]
                if new_pair != pair:
                    words_with.setdefault(new_pair, set()).add(word)
        del counts[pair]
    return tuple(merges), len(set(book))


def pieces(text: str, merges: int) -> list[str]:
    """Tokens of a text after the first `merges` merges; a word's first token begins with the space before it."""
    split = {word: _split(word, merges) for word in set(_words(text))}
    return [piece for word in _words(text) for piece in split[word]]


def _split(word: str, merges: int) -> list[str]:
    split = list(word)
    for merge in learn_merges()[0][:merges]:
        if merge.left + merge.right in word:
            split = _merge_pair(split, (merge.left, merge.right))
    return split


def _words(text: str) -> list[str]:
    """The text cut before every space, so that no merge spans two words."""
    first_word, *later_words = text.replace("\n", " ").split(" ")
    words = [first_word, *(f" {word}" for word in later_words)]
    return [word for word in words if word]


def _merge_pair(split: list[str], pair: tuple[str, str]) -> list[str]:
    """The pieces with every occurrence of the pair merged, left to right."""
    merged: list[str] = []
    index = 0
    while index < len(split):
        is_pair = tuple(split[index : index + 2]) == pair
        merged.append("".join(pair) if is_pair else split[index])
        index += 2 if is_pair else 1
    return merged
