"""The numbers that a text states outright: each is named in the front matter, most by the computation that gives it.

`[stated]` holds numbers, lists of them, and arithmetic with sqrt, log, pi and the constants of the Python modules that
judge or compute: `softened = "0.003 / sqrt(0.003 ** 2 + 1e-5)"`. A net's depth, a judge's bound or a goal has a name
already. 0 and 1 need none, nor do formulas, code, and a place in a paper.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import unwrap
from typing import Any

from models.content import FRONT, LEFT_ALONE, PLACEHOLDER, Document

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
FUNCTIONS: dict[str, Callable[[float], float]] = {"sqrt": math.sqrt, "log": math.log}
UNNAMED = (0.0, 1.0)


def check(text: Document, functions: Iterable[Callable[..., Any]]) -> None:
    """A fault where a sentence of the file states a number without a name, or a name stands for none that is stated.

    `functions`: those that judge and compute; the constants of their modules may be named.
    """
    constants = {name: value for one in functions for name, value in unwrap(one).__globals__.items()}
    stated = text.take("stated", dict, {})
    named = {name: list(_values(text, name, value, constants)) for name, value in stated.items()}
    given, used = [*UNNAMED, *_leaves(text.front)], set()
    for number, written, line in _numbers(text.path.read_text(encoding="utf-8")):
        by = {name for name, values in named.items() if any(_says(number, written, value) for value in values)}
        used |= by
        if not by and not any(math.isclose(number, value) for value in given):
            raise text.fault(f"the number {written} is neither measured nor named in the front matter", line=line)
    for name in named.keys() - used:
        raise text.fault(f"no sentence states “{name}”, or not as it comes out: {named[name]}", name)


def _numbers(whole: str) -> Iterator[tuple[float, str, int]]:
    """Every number of the sentences, as it is written, and its line."""
    front = FRONT.match(whole)
    at = front.end() if front else 0
    for count, part in enumerate(LEFT_ALONE.split(whole[at:])):
        plain = part
        for left_out in (PLACEHOLDER, CITED):
            plain = left_out.sub(lambda match: " " * len(match[0]), plain)
        for match in NUMBER.finditer(plain) if count % 2 == 0 else ():
            number = _read(match[1]) / float(match[2] or 1) / (100 if match[3] else 1)
            yield number, match[0], whole.count("\n", 0, at + match.start()) + 1
        at += len(part)


def _read(digits: str) -> float:
    return float(digits.rstrip(",").replace(",", ""))


def _says(number: float, written: str, value: float) -> bool:
    """Whether a value comes out as written, to the last digit."""
    mantissa, _, power = written.rstrip("% ").partition("e")
    if "/" in mantissa:
        return math.isclose(number, value)
    unit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2])) / (100 if "%" in written else 1)
    return abs(number - abs(value)) <= unit / 2 * (1 + 1e-9)


def _leaves(value: Any) -> Iterator[float]:
    """Every number of a front matter, also of its names and texts."""
    if isinstance(value, Mapping):
        yield from (leaf for name, entry in value.items() for leaf in (*_leaves(name), *_leaves(entry)))
    elif isinstance(value, list):
        yield from (leaf for entry in value for leaf in _leaves(entry))
    elif isinstance(value, str):
        yield from (_read(match[1]) for match in NUMBER.finditer(value))
    elif not isinstance(value, bool):
        yield float(value)


def _values(text: Document, name: str, value: Any, constants: Mapping[str, Any]) -> Iterator[float]:
    if isinstance(value, str):
        try:
            value = _computed(ast.parse(value, mode="eval").body, constants)
        except (SyntaxError, KeyError, TypeError, ArithmeticError, ValueError) as error:
            raise text.fault(f"“{name}” cannot be computed: {type(error).__name__} {error}", name) from None
    for entry in value if isinstance(value, list | tuple) else (value,):
        if isinstance(entry, list | tuple):
            yield from _values(text, name, entry, constants)
        else:
            yield float(entry)


def _computed(node: ast.expr, constants: Mapping[str, Any]) -> Any:
    """Arithmetic on numbers; no other Python."""
    match node:
        case ast.Constant(int() | float() as value):
            return value
        case ast.Name(name):
            return {"pi": math.pi, **constants}[name]
        case ast.BinOp(left, operation, right):
            return OPERATORS[type(operation)](_computed(left, constants), _computed(right, constants))
        case ast.UnaryOp(operation, operand):
            return OPERATORS[type(operation)](_computed(operand, constants))
        case ast.Call(ast.Name(name), [argument], []):
            return FUNCTIONS[name](_computed(argument, constants))
    raise ValueError(ast.unparse(node))
