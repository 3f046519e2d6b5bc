"""What the search costs: the first question, which builds the index, and every later one."""

import time
from collections.abc import Iterable, Iterator

from benchmarks.report import Figure
from components.search import index
from tests.search.test_questions import QUESTIONS

GOAL_MILLISECONDS = 100


def search(questions: Iterable[str] = QUESTIONS) -> Iterator[Figure]:
    """Milliseconds to build the index, and of the slowest answer while the questions are typed letter by letter."""
    index._index.cache_clear()
    yield Figure("first answer, which builds the index", _milliseconds("norm"), "ms")
    typed = [question[:end] for question in questions for end in range(1, len(question) + 1)]
    slowest = max(map(_milliseconds, typed))
    yield Figure(f"slowest of {len(typed)} answers", slowest, "ms", at_most=GOAL_MILLISECONDS)


def _milliseconds(text: str) -> float:
    begin = time.perf_counter()
    index.answer(text)
    return 1000 * (time.perf_counter() - begin)
