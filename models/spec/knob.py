"""Knobs and entries: one declaration per field or choice, behind its widget, link, validation and help."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

from models.content import Content, ContentError, text_tables

HELP = Content("help.toml", text_tables)
VOCABULARY = Content("vocabulary.toml", text_tables)


@dataclass(frozen=True)
class VocabularyChoice:
    """A choice; `place` is its table and its key in `content/en/vocabulary.toml`."""

    place: tuple[str, str] = field(default=("", ""), kw_only=True)

    @property
    def description(self) -> str:
        """What it is, in a sentence without its full stop."""
        table, key = self.place
        return VOCABULARY[table][key]


def describe(**choices: dict[str, Any]) -> None:
    """Sets the `place` of every choice; the keywords are tables of the vocabulary. Raises ContentError for a gap."""
    for table, entries in choices.items():
        for key, entry in entries.items():
            if key not in VOCABULARY[table]:
                raise ContentError(f"content/en/vocabulary.toml: the table “{table}” lacks “{key}”.")
            entries[key] = replace(entry, place=(table, key))


@dataclass(frozen=True)
class Entry(VocabularyChoice):
    """A choice with its `formula` in LaTeX and its `source`, a paper with its arXiv number or a definition."""

    formula: str = ""
    source: str = ""


@dataclass(frozen=True)
class NormEntry(Entry):
    """A norm, whose module is in `models.nets.norms` under the same key.

    `symbol` is LaTeX and `short` the name in a diagram. `code` builds the norm from {width} and {eps}; {switch} is the
    argument that removes gain and bias. `over` is the set that its statistics cover: "token", "batch", or "" for none.
    `divisor` is the statistic whose root divides a token: "variance" of the centred token, or "mean square". The law of
    the signal follows from it; it is "" for other formulas, whose law is unknown.
    """

    symbol: str = ""
    short: str = ""
    code: str = ""
    switch: str = "affine"
    over: str = ""
    divisor: Literal["", "variance", "mean square"] = ""


@dataclass(frozen=True, kw_only=True)
class ActivationEntry(Entry):
    """An activation, implemented in `models.nets.branches` and `models.insight.gaussian` under the same key.

    `code` is what a script calls: a torch function (F. or torch.), or "Name()" of a class in `models.nets.branches`;
    empty for the identity.
    """

    code: str


@dataclass(frozen=True)
class Matrix:
    """A branch matrix in a net of `sublayers` sublayers; `last` marks the branch's output matrix."""

    inputs: int
    outputs: int
    last: bool
    sublayers: int


@dataclass(frozen=True, kw_only=True)
class InitEntry(Entry):
    """An initialisation, implemented in `models.nets.initialisation` under the same key.

    `title` is its comment in a script and `draw` the code there, which draws p (outputs, inputs) from the generator
    `source`. `variance` returns the mean square of a matrix. `on_outputs` is the factor on output matrices,
    `past_scores` the one on all matrices but queries and keys; both are code in which M is the number of sublayers.
    `fixed` marks a variance that does not depend on the width.
    """

    title: str
    draw: str
    variance: Callable[[Matrix], float]
    on_outputs: str = ""
    past_scores: str = ""
    fixed: bool = False


@dataclass(frozen=True)
class Knob:
    """The legal values of a field, and the control that sets it.

    A number lies between `low` and `high`; a free text has at most `high` characters. A field with `choices` takes one
    of their keys, or a tuple of them if `multiple`; a choice's value is its label where that differs from the key. A
    scale takes a number or the name of one of `rules`. `link` is the field's key in a URL if it is not its name, and
    `exact` writes choices there verbatim instead of as slugs. `control` overrides the default widget: "slider",
    "segments" or "pills" (buttons side by side) or "steps" (a slider over `choices`, or `stops` and the current value).
    `width` is in pixels. `word` is the glossary term that the help links to, `place` the form and the field under
    which `content/en/help.toml` keeps that help.
    """

    label: str
    low: float = 0
    high: float = 0
    step: float = 0
    choices: Mapping[Any, object] | None = None
    rules: Mapping[str, object] | None = None
    group: str = "expert"
    log: bool = False
    nets: tuple[str, ...] = ("mlp", "transformer")
    multiple: bool = False
    link: str = ""
    exact: bool = False
    control: str = ""
    stops: tuple[int, ...] = ()
    width: int | None = None
    word: str = ""
    place: tuple[str, str] = ("", "")

    @property
    def help(self) -> str:
        """The tooltip of the control."""
        form, name = self.place
        return HELP.get(form, {}).get(name, "")

    def legal_values(self) -> str:
        """The legal values in words: "1 to 128", or "one of sgd, adam"."""
        if self.choices is not None:
            return "one of " + ", ".join(map(str, self.choices))
        numbers = f"{plain(self.low)} to {plain(self.high)}"
        return f"{numbers}, or one of {', '.join(self.rules)}" if self.rules else numbers

    def refusal(self, text: str) -> str:
        """Why a text is not a legal value, without a full stop: "Learning rate 24 is out of range (0.000001 to 10)"."""
        legal = self.legal_values()
        if self.choices is not None:
            return f"{self.label} {text} is not {legal}"
        try:
            number = float(text.replace(",", ""))
        except ValueError:
            return f"{self.label} {text} is not a number from {legal}"
        if self.low <= number <= self.high:
            return f"{self.label} {text} is not a whole number"
        return f"{self.label} {text} is out of range ({legal})"

    def clamp(self, number: float) -> float:
        """The nearest number from `low` to `high`."""
        return min(max(number, self.low), self.high)

    def is_legal(self, value: object) -> bool:
        """Whether a value of the right type is legal."""
        if self.choices is not None:
            return set(value) <= set(self.choices) if isinstance(value, tuple) else value in self.choices
        if isinstance(value, str):
            return value in self.rules if self.rules is not None else len(value) <= self.high
        return isinstance(value, int | float) and math.isfinite(value) and self.low <= value <= self.high


def plain(number: float) -> str:
    """A number without an exponent, unless it is very large or small: "0.000001", "5,000"."""
    is_moderate = number == 0 or 1e-6 <= abs(number) < 1e12
    return f"{Decimal(repr(float(number))):,f}".removesuffix(".0") if is_moderate else repr(float(number))


def is_integer(value: object) -> bool:
    """Whether a value is an int and not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_integer(name: str, value: object, low: int, high: int) -> None:
    """Raises ValueError unless a value is an integer from `low` to `high`."""
    if not (isinstance(value, int) and is_integer(value) and low <= value <= high):
        raise ValueError(f"{name} is {value!r}; legal is a whole number from {low} to {high}")


Knobs = Mapping[str, tuple[tuple[type, ...], Knob]]


@cache
def knobs_of(kind: type) -> Knobs:
    """The accepted types and the knob of every field of a dataclass by name, in order."""
    hints = get_type_hints(kind, include_extras=True)
    result = {}
    for field_ in fields(kind):
        annotation, knob = get_args(hints[field_.name])
        if not knob.place[0]:
            knob = replace(knob, place=(kind.__name__, field_.name))
        types = tuple(argument for argument in get_args(annotation) if isinstance(argument, type))
        result[field_.name] = (types or (annotation,), knob)
    return result
