"""A teacher's own questions: their text, their options or a number, and the bars of the guesses."""

import itertools
import math
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from models.lessons.lessons import Lesson
from models.spec.bounds import MAX_OPTION_CHARS, MAX_OPTIONS, MAX_QUESTION_CHARS
from models.spec.query import MAX_NUMBER_CHARS

MAX_SIZE = 1e12  # of a number
MAX_BARS = 8  # of different numbers; more are put together
ASK, OPTION, RIGHT, NUMBER = "?", "-", "*", "="  # how the lines of a question begin


@dataclass(frozen=True)
class Poll:
    """A question to a class. `options`: empty where a number is asked for."""

    title: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class OwnQuestion(Poll):
    """A teacher's question. `right`: an option or a number, empty if the teacher names none."""

    right: str = ""

    def __post_init__(self) -> None:
        if not 1 <= len(self.title) <= MAX_QUESTION_CHARS:
            raise ValueError(f"a question has 1 to {MAX_QUESTION_CHARS} characters")
        if not self.options:
            if self.right:
                number_text(self.right)
            return
        if not 2 <= len(self.options) <= MAX_OPTIONS:
            raise ValueError(f"a question has two to {MAX_OPTIONS} options, or none for a number")
        if len(set(self.options)) < len(self.options):
            raise ValueError("two options of the question are the same")
        if not all(1 <= len(option) <= MAX_OPTION_CHARS for option in self.options):
            raise ValueError(f"an option has 1 to {MAX_OPTION_CHARS} characters")

    @property
    def text(self) -> str:
        """The question as lines of a plan."""
        if not self.options:
            return f"{ASK} {self.title}\n{NUMBER} {self.right}".rstrip()
        lines = [f"{RIGHT if option == self.right else OPTION} {option}" for option in self.options]
        return "\n".join([f"{ASK} {self.title}", *lines])


def question_from(text: str) -> OwnQuestion:
    """The question in some lines of a plan; ValueError with the reason if they are none."""
    title, *lines = [plain(line) for line in text.splitlines() if plain(line)] or [""]
    if not title.startswith(ASK):
        raise ValueError(f"a question begins with {ASK}")
    options, right = [], []
    for line in lines:
        kind, rest = line[0], line[1:].strip()
        if kind == NUMBER:
            right.append(rest)
        elif kind in (OPTION, RIGHT):
            options.append(rest)
            right += [rest] if kind == RIGHT else []
        else:
            raise ValueError(f"an option begins with {OPTION}, the right one with {RIGHT}, a number with {NUMBER}")
    numbers = [line for line in lines if line.startswith(NUMBER)]
    if len(right) > 1 or (numbers and options):
        raise ValueError("a question has one right answer: an option or a number")
    if not options and not numbers:
        raise ValueError(f"the question has no options; a line with {NUMBER} alone asks for a number")
    answer = number_text(right[0]) if numbers and right[0] else "".join(right)
    return OwnQuestion(title[1:].strip(), tuple(options), answer)


def plain(text: str) -> str:
    """A line of text without what cannot be seen."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def number_text(text: str) -> str:
    """A typed number as it is counted; ValueError for any other text."""
    typed = re.sub(r"(?<=\d)[,\u2009\u00a0 ](?=\d{3}(?!\d))", "", text.strip()[:MAX_NUMBER_CHARS]).replace(",", ".")
    try:
        value = float(typed.replace("_", "x"))
    except ValueError:
        raise ValueError(f"“{plain(text)[:MAX_NUMBER_CHARS]}” is not a number") from None
    if not abs(value) <= MAX_SIZE:
        raise ValueError(f"a number is at most {MAX_SIZE:g} in size")
    return f"{value + 0.0:.12g}"


def legal_guess(poll: Poll | Lesson, text: str) -> str:
    """A guess as it is counted; ValueError if it is none."""
    if not poll.options:
        return number_text(text)
    if text not in poll.options:
        raise ValueError(f"{text!r} is no option of this question")
    return text


class _Span(NamedTuple):
    """Numbers from `low` to below `high`, or one number, and the label of their bar."""

    low: float
    high: float
    label: str

    def holds(self, value: float) -> bool:
        return value == self.low == self.high or self.low <= value < self.high


class Bars:
    """The bars of a question's guesses: an option each, or numbers put together if there are many different ones."""

    def __init__(self, poll: Poll | Lesson, guesses: Iterable[str]) -> None:
        self._guesses = list(guesses)
        self._right = poll.right if isinstance(poll, OwnQuestion) else ""
        self._options = poll.options
        numbers = [] if poll.options else [self._number(text) for text in (*self._guesses, self._right) if text]
        self._spans = _spans(numbers)

    def label(self, guess: str) -> str:
        """The label of the bar in which a guess is counted; empty for no guess."""
        if self._options or not guess:
            return guess
        return next((span.label for span in self._spans if span.holds(self._number(guess))), "")

    def _number(self, guess: str) -> float:
        """The number as which a guess counts: the right one, if it is that with more digits."""
        if self._right:
            right = Decimal(self._right)
            if abs(Decimal(guess) - right) < Decimal(5).scaleb(int(right.as_tuple().exponent) - 1):
                return float(right)
        return float(guess)

    def counts(self) -> dict[str, int]:
        """The number of guesses by label, in order."""
        labels = [self.label(guess) for guess in self._guesses]
        return {label: labels.count(label) for label in self._options or [span.label for span in self._spans]}


def _spans(numbers: Sequence[float]) -> list[_Span]:
    """The different numbers, or up to MAX_BARS spans of one round width, with what lies far from most at both ends."""
    values = sorted(set(numbers))
    if len(values) <= MAX_BARS:
        return [_Span(value, value, f"{value:.12g}") for value in values]
    lower, _, upper = statistics.quantiles(numbers, n=4)
    reach = 1.5 * (upper - lower)
    usual = [value for value in values if lower - reach <= value <= upper + reach]
    low, high = usual[0], usual[-1]
    if low == high:
        spans, above = [_Span(low, low, f"{low:.12g}")], math.nextafter(low, math.inf)
    else:
        rough = (high - low) / (MAX_BARS - 3)
        power = 10.0 ** math.floor(math.log10(rough))
        width = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
        first = math.floor(low / width)
        ends = [float(f"{(first + at) * width:.12g}") for at in range(math.floor(high / width) - first + 2)]
        spans = [_Span(*pair, f"{pair[0]:.12g} to below {pair[1]:.12g}") for pair in itertools.pairwise(ends)]
        above = ends[-1]
    below = _Span(-math.inf, spans[0].low, f"below {spans[0].low:.12g}")
    rest = _Span(above, math.inf, f"above {high:.12g}" if low == high else f"{above:.12g} and more")
    return [span for span in (below, *spans, rest) if span in spans or any(map(span.holds, values))]
