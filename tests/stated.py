"""Checks that the front matter of a text names every number that its sentences state, mostly by its computation.

`[stated]` holds numbers, lists of them, and arithmetic with sqrt, log, pi and the constants of the Python modules that
judge or compute: `softened = "0.003 / sqrt(0.003 ** 2 + 1e-5)"`. Numbers elsewhere in the front matter, such as a net's
depth, are named already. 0, 1, formulas, code and places in a paper are exempt.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from models.claims import judging
from models.content import FRONT, LEFT_ALONE, PLACEHOLDER, SEARCHED, Document
from models.exhibits import beside
from models.lessons import judges

NUMBER = re.compile(
    r"(?<![A-Za-z_0-9.,/√])(?<![A-Za-z]-)(\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)(?:/(\d+)(?![\w.]))?(?:\s?(%))?"
)
CITED = re.compile(
    r"\]\([^)]*\)|\b(?:figures?|theorems?|equations?|sections?|tables?)\s[\d.]+(?:\sand\s[\d.]+)?", re.IGNORECASE
)
OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}
MATH_FUNCTIONS: dict[str, Callable[[float], float]] = {"sqrt": math.sqrt, "log": math.log}
EXEMPT_NUMBERS = (0.0, 1.0)


def kind_of(path: Path) -> str:
    """What a text is: a name of MAKERS."""
    return path.parts[-3] if path.stem.startswith("words") else path.parent.name if path.suffix == ".md" else path.name


class StatedNumber(NamedTuple):
    """A number of a sentence, as written there."""

    value: float
    text: str
    line: int


def check_numbers_named(text: Document) -> None:
    """Raises ContentError if a sentence states a number without a name, or if no sentence states a named one.

    `[stated]` may use the constants of the modules that judge the text or compute its numbers.
    """
    own = [beside(text.path, "numbers"), beside(text.path, "judge")]
    constants = {name: value for module in (judging, judges, *own) if module for name, value in vars(module).items()}
    stated = text.take("stated", dict, {})
    for name in ("order", *SEARCHED):  # a place and others' words name no number
        text.front.pop(name, None)
    named = {name: list(_values(text, name, value, constants)) for name, value in stated.items()}
    exempt = [*EXEMPT_NUMBERS, *_numbers_within(text.front)]
    stated_names = set()
    for number in _numbers(text.path.read_text(encoding="utf-8")):
        names = {name for name, values in named.items() if any(_is_rounded_from(number, value) for value in values)}
        stated_names |= names
        is_exempt = any(math.isclose(number.value, value) for value in exempt)
        if not names and not is_exempt:
            message = f"the number {number.text} is neither measured nor named in the front matter"
            raise text.fault(message, line=number.line)
    for name in named.keys() - stated_names:
        raise text.fault(f"no sentence states “{name}”, or not as it comes out: {named[name]}", name)


def _numbers(content: str) -> Iterator[StatedNumber]:
    """Yields each number of the sentences; skips the front matter, formulas, code, placeholders and citations."""
    front = FRONT.match(content)
    offset = front.end() if front else 0
    for index, part in enumerate(LEFT_ALONE.split(content[offset:])):
        is_prose = index % 2 == 0  # every second part is a formula or code
        if is_prose:
            prose = _blank_out(CITED, _blank_out(PLACEHOLDER, part))
            for match in NUMBER.finditer(prose):
                value = _read(match[1]) / float(match[2] or 1) / (100 if match[3] else 1)
                line = content.count("\n", 0, offset + match.start()) + 1
                yield StatedNumber(value, match[0], line)
        offset += len(part)


def _blank_out(pattern: re.Pattern[str], text: str) -> str:
    """Replaces each match with blanks of the same length."""
    return pattern.sub(lambda match: " " * len(match[0]), text)


def _read(digits: str) -> float:
    return float(digits.rstrip(",").replace(",", ""))


def _is_rounded_from(number: StatedNumber, exact: float) -> bool:
    """Whether the exact value rounds to the number as written, to the last digit."""
    mantissa, _, power = number.text.rstrip("% ").partition("e")
    if "/" in mantissa:
        return math.isclose(number.value, exact)
    decimals = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(power or 0) - decimals) / (100 if "%" in number.text else 1)
    return abs(number.value - abs(exact)) <= unit / 2 * (1 + 1e-9)


def _numbers_within(value: Any) -> Iterator[float]:
    """Yields the numbers of a front matter, including those in its names and texts."""
    if isinstance(value, Mapping):
        for name, entry in value.items():
            yield from _numbers_within(name)
            yield from _numbers_within(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _numbers_within(entry)
    elif isinstance(value, str):
        yield from (_read(match[1]) for match in NUMBER.finditer(value))
    elif not isinstance(value, bool):
        yield float(value)


def _values(text: Document, name: str, value: Any, constants: Mapping[str, Any]) -> Iterator[float]:
    """Yields the numbers of an entry of `[stated]`; evaluates arithmetic. Raises ContentError if it cannot."""
    if isinstance(value, str):
        try:
            value = _evaluate(ast.parse(value, mode="eval").body, constants)
        except (SyntaxError, KeyError, TypeError, ArithmeticError, ValueError) as error:
            raise text.fault(f"“{name}” cannot be computed: {type(error).__name__} {error}", name) from None
    for entry in value if isinstance(value, list | tuple) else (value,):
        if isinstance(entry, list | tuple):
            yield from _values(text, name, entry, constants)
        else:
            yield float(entry)


def _evaluate(node: ast.expr, constants: Mapping[str, Any]) -> Any:
    """Evaluates arithmetic on numbers and constants, and no other Python."""
    match node:
        case ast.Constant(int() | float() as value):
            return value
        case ast.Name(name):
            return {"pi": math.pi, **constants}[name]
        case ast.BinOp(left, operation, right):
            return OPERATORS[type(operation)](_evaluate(left, constants), _evaluate(right, constants))
        case ast.UnaryOp(operation, operand):
            return OPERATORS[type(operation)](_evaluate(operand, constants))
        case ast.Call(ast.Name(name), [argument], []):
            return MATH_FUNCTIONS[name](_evaluate(argument, constants))
    raise ValueError(ast.unparse(node))
