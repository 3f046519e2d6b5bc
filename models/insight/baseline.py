"""The loss of guessing: the loss of the best answer that ignores the input, from each task's own data."""

import gzip
import math
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path

from models.spec import TASKS
from models.spec.tasks import SYMBOLS

LEARNED_BELOW = 0.9  # share of the loss of guessing; a net below it has learned something
MAX_SLIGHT_COST = 0.1  # share of the decrease of the loss below guessing; what loses less costs little
BETTER_BELOW = 0.98  # the same share; a loss below it beats guessing by more than the noise of a mean over batches
MIN_UNIFORM_ENTROPY = 0.99  # share of ln(classes) from which all classes count as equally frequent
LUCK = 1e-3  # probability with which guesses alone reach an accuracy that counts as luck
DATA = Path(__file__).parents[1] / "tasks" / "data"


@cache
def loss_of_guessing(task: str) -> float:
    """Cross-entropy in nats of the best constant guess; for `sort`, of the best constant guess at each position.

    It equals the entropy of the digits' labels, of the book's characters, or of the symbols that a toy task draws.
    KeyError for an unknown task.
    """
    entropies = {
        "digits": lambda: entropy(_digit_counts()),
        "book": lambda: entropy(_character_counts()),
        "sort": _sort_entropy,
    }
    return entropies[task]() if task in entropies else math.log(TASKS[task].classes)


def beats_guessing(task: str, loss: float, accuracy: float) -> bool:
    """Whether held-out loss and accuracy are better than those of guessing, by more than luck; NaN is not measured."""
    return loss < BETTER_BELOW * loss_of_guessing(task) and not accuracy <= luckiest_accuracy(task)


@cache
def luckiest_accuracy(task: str) -> float:
    """Largest held-out accuracy that the best constant guess exceeds with a probability of LUCK at most.

    The number of right answers is binomial.
    """
    n, p = TASKS[task].answers, accuracy_of_guessing(task)
    log_odds = [
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p)
        for k in range(n + 1)
    ]
    above, k = 0.0, n
    while above + math.exp(log_odds[k]) <= LUCK:
        above += math.exp(log_odds[k])
        k -= 1
    return k / n


def accuracy_of_guessing(task: str) -> float:
    """Share of right answers of the best constant guess; for `sort`, of the best constant guess at each position."""
    if task == "sort":
        return sum(max(_order_statistic(k)) for k in range(1, SYMBOLS + 1)) / SYMBOLS
    counts = {"digits": _digit_counts, "book": _character_counts}
    frequencies = list(counts[task]()) if task in counts else [1] * TASKS[task].classes
    return max(frequencies) / sum(frequencies)


def name_of_guessing(task: str) -> str:
    """Name of the loss of guessing in charts and sentences: "chance" if all classes are about equally frequent."""
    uniform = loss_of_guessing(task) > MIN_UNIFORM_ENTROPY * math.log(TASKS[task].classes)
    return "chance" if uniform else "the best constant guess"


def guess_in_words(task: str) -> str:
    """Name and value of the loss of guessing: "chance (2.30)"."""
    return f"{name_of_guessing(task)} ({loss_of_guessing(task):.2f})"


def label_of_guessing(task: str) -> str:
    """Name of the loss of guessing as the label of a line or a column, without "the"."""
    return name_of_guessing(task).removeprefix("the ")


def entropy(counts: Iterable[float]) -> float:
    """Entropy in nats of a distribution given by counts or weights."""
    positive = [count for count in counts if count > 0]
    total = sum(positive)
    return -sum(count / total * math.log(count / total) for count in positive)


@cache
def guess_spread(task: str) -> float:
    """Frequency-weighted mean of the best constant guess's logits above their plain mean, in nats.

    It is 0 for every task but the book, because the other tasks' answers are about equally frequent.
    """
    counts = list(_character_counts()) if task == "book" else []
    total = sum(counts)
    return sum((count / total - 1 / len(counts)) * math.log(count) for count in counts)


def _digit_counts() -> Iterable[int]:
    rows = gzip.decompress((DATA / "digits.csv.gz").read_bytes()).decode("ascii").split()
    return Counter(row.rpartition(",")[2] for row in rows).values()


def _character_counts() -> Iterable[int]:
    return Counter((DATA / "moby_dick.txt").read_text(encoding="ascii")).values()


def _sort_entropy() -> float:
    """Mean over k of the entropy of the k-th smallest of SYMBOLS uniform draws from SYMBOLS symbols."""
    return sum(entropy(_order_statistic(k)) for k in range(1, SYMBOLS + 1)) / SYMBOLS


def _order_statistic(k: int) -> list[float]:
    """Probability that each symbol is the k-th smallest draw: k draws at or below it, but not k draws below it."""
    cumulative = [_binomial_tail(k, symbol / SYMBOLS) for symbol in range(SYMBOLS + 1)]
    return [upper - lower for lower, upper in pairwise(cumulative)]


def _binomial_tail(k: int, p: float) -> float:
    """Probability of at least k successes in SYMBOLS trials that each succeed with probability p."""
    return sum(math.comb(SYMBOLS, n) * p**n * (1 - p) ** (SYMBOLS - n) for n in range(k, SYMBOLS + 1))
