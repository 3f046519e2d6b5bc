"""Sizes and numbers as sentences write them: "63,000 times larger", "12% of their size", "2 seeds"."""

import math

import numpy as np

from addnorm.words import MAX_PLAIN_DECADES, SUPERSCRIPT, number
from models.content import Texts
from models.spec import RunConfig

TEXTS = Texts("changes")

UNCHANGED_DECADES = 0.3  # a change by less, a factor of two, counts as none
__all__ = [
    "change_in_words",
    "count_in_words",
    "decades",
    "factor",
    "number",
    "relative_size",
    "signed_number",
    "times",
    "times_larger",
    "two_places",
    "vectors",
]


def decades(start: float, end: float) -> float:
    """log10(end / start); infinite if one of them is zero or not finite, 0 if both are zero."""
    if not (math.isfinite(start) and math.isfinite(end)):
        return math.inf
    if start == 0 or end == 0:
        return 0.0 if start == end else math.copysign(math.inf, end - start)
    return math.log10(end) - math.log10(start)


def factor(change: float) -> str:
    """A change in decades, up or down, as a factor of at least 1 with two digits: "1.5", "63,000", "3.0·10⁷"."""
    whole = math.floor(abs(change))
    digits, carry = f"{10 ** (abs(change) - whole):.1e}".split("e")
    power = whole + int(carry)
    if power >= MAX_PLAIN_DECADES:
        return f"{digits}·10{str(power).translate(SUPERSCRIPT)}"
    return f"{float(digits) * 10**power:,.0f}" if power else f"{float(digits):g}"


def signed_number(value: float, digits: int = 2) -> str:
    """A difference with its sign: "+3.7", "-0.01"."""
    return f"{'+' if value >= 0 else ''}{number(value, digits)}"


def times(change: float) -> str:
    """A change in decades as a factor with its sign: "×63,000", "÷1.5"; "×0" where the end is 0."""
    if math.isinf(change):
        return "×0" if change < 0 else "×∞"
    size = factor(change)
    return f"{'×' if change >= 0 or size == '1' else '÷'}{size}"


def times_larger(change: float) -> str:
    """A change in decades as a comparison: "63,000 times larger" or "1.5 times smaller"."""
    return f"{factor(change)} times {'larger' if change > 0 else 'smaller'}"


def count_in_words(count: int, noun: str, plural: str = "s") -> str:
    """A count with its noun, to which `plural` is added unless the count is 1: "2 seeds", "1 seed"."""
    return f"{count:,} {noun}{'' if count == 1 else plural}"


def relative_size(share: float) -> str:
    """A relative change: "12% of their size", "30 times their size"."""
    return f"{share:.0%} of their size" if share < 1 else f"{factor(math.log10(share))} times their size"


def change_in_words(name: str, sizes: np.ndarray, path: str) -> str:
    """How the sizes (S,) of `name` change along `path`, as a sentence without its full stop.

    A change is the last size over the first, a range the largest over the smallest.
    """
    least, largest = float(np.min(sizes)), float(np.max(sizes))
    if not math.isfinite(largest):
        text = TEXTS("to infinity", name=name, path=path)
    elif least == 0 < largest:
        text = TEXTS("to zero", name=name, path=path)
    else:
        text = _finite_change(name, decades(float(sizes[0]), float(sizes[-1])), decades(least, largest), path)
    return " ".join(text.split())


def _finite_change(name: str, change: float, spread: float, path: str) -> str:
    """A change and a range in decades in words."""
    size, span = factor(change), factor(spread)
    if abs(change) >= UNCHANGED_DECADES:
        return TEXTS("larger" if change > 0 else "smaller", name=name, factor=size, path=path)
    if spread >= UNCHANGED_DECADES and size == "1":
        return TEXTS("varies, the same", name=name, range=span, path=path)
    if spread >= UNCHANGED_DECADES:
        heading = "varies, larger" if change > 0 else "varies, smaller"
        return TEXTS(heading, name=name, range=span, factor=size, path=path)
    if span == "1":
        return TEXTS("the same", name=name, path=path)
    return TEXTS("within", name=name, range=span, path=path)


def vectors(cfg: RunConfig) -> str:
    """Name of the vectors that a cosine compares: "samples" if they have one token each, else "tokens"."""
    return "samples" if cfg.tokens == 1 else "tokens"


def two_places(value: float) -> str:
    """A number with two decimal places, and no -0.00."""
    return f"{round(value, 2) + 0.0:.2f}"
