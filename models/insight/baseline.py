"""The loss of guessing: that of the best answer that ignores the question, from each task's own data."""

import gzip
import math
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path

from models.spec import TASKS
from models.spec.tasks import SYMBOLS

LEARNT = 0.9  # times the loss of guessing, below which a net has learned something
BETTER = 0.98  # times the same, below which a loss is better than it by more than the noise of a mean over batches
UNIFORM = 0.99  # of ln(classes), above which all classes are about equally frequent
DATA = Path(__file__).parents[1] / "tasks" / "data"


@cache
def loss_of_guessing(task: str) -> float:
    """Cross-entropy in nats of the best constant guess; in `sort`, of the best guess for each place.

    It is the entropy of the digits, of the book's characters, or of the symbols that a toy task draws. KeyError for an
    unknown task.
    """
    measured = {"digits": _digits, "book": lambda: entropy(_letters()), "sort": _sorted}
    return measured[task]() if task in measured else math.log(TASKS[task].classes)


def name_of_guessing(task: str) -> str:
    """What charts and sentences call the loss of guessing: chance where all classes are about equally frequent."""
    uniform = loss_of_guessing(task) > UNIFORM * math.log(TASKS[task].classes)
    return "chance" if uniform else "the best constant guess"


def guess_in_words(task: str) -> str:
    """The loss of guessing by its name: "chance (2.30)"."""
    return f"{name_of_guessing(task)} ({loss_of_guessing(task):.2f})"


def label_of_guessing(task: str) -> str:
    """The name of the loss of guessing, for a line or a column."""
    return name_of_guessing(task).removeprefix("the ")


def entropy(counts: Iterable[float]) -> float:
    """Entropy in nats of a distribution given by counts or weights."""
    positive = [count for count in counts if count > 0]
    total = sum(positive)
    return -sum(count / total * math.log(count / total) for count in positive)


@cache
def guess_spread(task: str) -> float:
    """By how much, in nats, the best constant guess sets the logit of a usual answer above that of any answer.

    The mean log frequency over answers as they occur, less that over all answers alike: 0 where all are as frequent.
    """
    frequencies = list(_letters()) if task == "book" else []
    whole = sum(frequencies)
    return sum((part / whole - 1 / len(frequencies)) * math.log(part) for part in frequencies)


def _digits() -> float:
    rows = gzip.decompress((DATA / "digits.csv.gz").read_bytes()).decode("ascii").split()
    return entropy(Counter(row.rpartition(",")[2] for row in rows).values())


def _letters() -> Iterable[int]:
    return Counter((DATA / "moby_dick.txt").read_text(encoding="ascii")).values()


def _sorted() -> float:
    """The mean over k of the entropy of the k-th smallest of SYMBOLS symbols that are drawn uniformly."""
    return sum(entropy(_smallest(place)) for place in range(1, SYMBOLS + 1)) / SYMBOLS


def _smallest(place: int) -> list[float]:
    """The probability of each symbol at this place: that `place` draws are at or below it, but not all below."""
    below = [_at_least(place, symbol / SYMBOLS) for symbol in range(SYMBOLS + 1)]
    return [upto - before for before, upto in pairwise(below)]


def _at_least(place: int, share: float) -> float:
    """The probability that at least `place` draws fall into a share of the symbols."""
    return sum(math.comb(SYMBOLS, n) * share**n * (1 - share) ** (SYMBOLS - n) for n in range(place, SYMBOLS + 1))
