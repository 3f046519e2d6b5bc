"""Byte-pair encoding of the book, held against one that counts everything anew before every join."""

from collections import Counter
from itertools import pairwise

import pytest

from models.labs import subwords
from models.labs.subwords import MAX_MERGES, learn_merges, pieces
from models.spec import TASKS
from models.tasks.book import text
from tests.app_page import sound, words
from tests.labs_page import lab

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


def spelled(word, joins):
    """By string alone: characters parted by a mark, which every join takes out between its two."""
    found = "\x00".join(word) + "\x00"
    for left, right in joins:
        found = "\x00" + found
        while f"\x00{left}\x00{right}\x00" in found:
            found = found.replace(f"\x00{left}\x00{right}\x00", f"\x00{left}{right}\x00", 1)
        found = found[1:]
    return found.split("\x00")[:-1]


def test_every_join_is_the_most_frequent_pair_of_neighbours_that_is_left():
    book = text()[: subwords.TRAINING_CHARACTERS].replace("\n", " ")
    split = Counter(book.replace(" ", "\x00 ").split("\x00"))
    joins: list[tuple[str, str]] = []
    found, symbols = learn_merges()
    assert symbols == TASKS["book"].vocabulary == len(set(text()))  # as many rows as the net's table
    assert len(found) == MAX_MERGES
    pieced = {word: list(word) for word in split}
    for at, join in enumerate(found[:60]):
        counts: Counter[tuple[str, str]] = Counter()
        for word, parts in pieced.items():
            for pair in pairwise(parts):
                counts[pair] += split[word]
        best = max(counts.values())
        assert join.count == best == counts[join.left, join.right], at
        joins.append((join.left, join.right))
        pieced = {
            word: spelled(word, joins) if join.left + join.right in word else parts for word, parts in pieced.items()
        }


def test_a_text_is_split_by_the_joins_in_their_order_and_loses_nothing():
    said = "The whale was unbelievably white."
    assert pieces(said, 0) == list(said)
    for count in (1, 10, 100, MAX_MERGES):
        found = pieces(said, count)
        joins = [(one.left, one.right) for one in learn_merges()[0][:count]]
        own = ["The", *(f" {word}" for word in said.split(" ")[1:])]
        assert found == [part for word in own for part in spelled(word, joins)]
        assert "".join(found) == said
    assert len(pieces(said, MAX_MERGES)) < len(pieces(said, 100)) < len(said)
    assert " was" in pieces(said, MAX_MERGES)


def test_the_page_shows_the_tokens_of_a_text_and_what_they_save():
    page = sound(lab("autoregression").run())
    page.slider(key="autoregression_joins").set_value(10)
    page.text_input(key="autoregression_subword_text").set_value("the whale")
    sound(page.run())
    tokens = len(pieces("the whale", 10))
    assert f"9 characters become {tokens} tokens, so attention scores {tokens**2} pairs instead of 81" in words(page)
    assert "the vocabulary grows from 75 to 85 tokens" in words(page)
