"""Which headings the program asks its texts for, read from the source: also where the heading is a variable."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path

from components.instruments import INSTRUMENTS
from components.labs.entrance import BOXES
from components.playground.presets import PRESETS
from components.shell.hidden_parts import PARTS
from components.start.cells import CELLS
from components.start.ways import WAYS
from models.maps.prepared import PREPARED

ROOT = Path(__file__).parents[1]
# Headings that come from tables of the program, by module and expression; those of an exhibit its test names, HEADINGS.
FROM_TABLES = {
    "models.maps.prepared: key": {*PREPARED},
    "components.start.cells: self.name": {cell.name for cell in CELLS},
    "components.start.ways: label": {label for _, label, _ in WAYS},
    "components.teacher.handout: name": {*PARTS},
    "components.labs.entrance: box": {*BOXES},
    "components.labs.entrance: settings.norm": {"post-norm", "pre-norm"},
    "components.playground.presets: name": {*PRESETS},
}
for test in ROOT.glob("exhibits/**/test_*.py"):
    if "\nHEADINGS = " in test.read_text("utf-8"):
        FROM_TABLES |= import_module(".".join(test.relative_to(ROOT).with_suffix("").parts)).HEADINGS
INSTRUMENT = re.compile(r"exhibits\.instruments\.\w+\.page")


@dataclass(frozen=True)
class Called:
    """A call of a text: its file, where it stands, the headings that it may have, what it gives to placeholders.

    `open`: it gives a mapping whose names the source does not show.
    """

    file: str
    at: str
    headings: set[str]
    given: set[str]
    constants: set[str]
    open: bool = False


class Module:
    """A module's source."""

    def __init__(self, name: str, source: str) -> None:
        self.name, self.tree = name, ast.parse(source)

    @cached_property
    def texts(self) -> dict[str, ast.Call]:
        """The texts that the module opens, by their name in the whole program."""
        return {
            f"{self.name}.{ast.unparse(node.targets[0])}": node.value
            for node in self.tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is(node.value.func, "Texts")
        }

    def calls(self) -> Iterator[Called]:
        """Every call of a text, and the sections of an instrument that are drawn around its page."""
        opened = OPENED | self.texts
        if INSTRUMENT.fullmatch(self.name):
            made = self.texts[f"{self.name}.WORDS"]
            needs = {instrument.folder: instrument.needs for instrument in INSTRUMENTS.values()}
            headings = {"explanation", "unfit"} if needs[self.name.split(".")[2]] else {"explanation"}
            yield Called(ast.literal_eval(made.args[0]), self.name, headings, set(), _words(made))
        names = {node.id: f"{self.name}.{node.id}" for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        for node in [node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom)]:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        for function, node in self._nodes(self.tree, None):
            first, _, rest = ast.unparse(node.func).partition(".")
            made = opened.get(".".join(filter(None, (names.get(first), rest))))
            at = f"{self.name}:{node.lineno}"
            if made is not None:
                yield self._called(made, at, node, function)

    def _nodes(
        self, tree: ast.AST, function: ast.FunctionDef | None
    ) -> Iterator[tuple[ast.FunctionDef | None, ast.Call]]:
        """Every call with the function in which it stands."""
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.Call):
                yield function, node
            yield from self._nodes(node, node if isinstance(node, ast.FunctionDef) else function)

    def _called(self, made: ast.Call, at: str, node: ast.Call, function: ast.FunctionDef | None) -> Called:
        mappings = [self._keys(word.value, function) for word in node.keywords if word.arg is None]
        return Called(
            ast.literal_eval(made.args[0]),
            at,
            self._values(node.args[0], function),
            _words(node).union(*[keys for keys in mappings if keys is not None]),
            _words(made),
            None in mappings,
        )

    def _values(self, node: ast.expr, function: ast.FunctionDef | None) -> set[str]:
        """The texts that an expression may be."""
        if isinstance(node, ast.Constant):
            return {str(node.value)}
        if isinstance(node, ast.IfExp):
            return self._values(node.body, function) | self._values(node.orelse, function)
        if isinstance(node, ast.Subscript):
            tables = [
                own.value for own in self.tree.body if isinstance(own, ast.Assign) and _is(own.targets[0], node.value)
            ]
            entries = [entry for table in tables if isinstance(table, ast.Dict) for entry in table.values]
            return {text for entry in entries for text in self._values(entry, function)}
        known = FROM_TABLES.get(f"{self.name}: {ast.unparse(node)}", set())
        if known or function is None or not isinstance(node, ast.Name):
            return known
        found = {text for value in _assigned(node.id, function) for text in self._values(value, function)}
        names = [argument.arg for argument in function.args.args]
        for call in ast.walk(self.tree) if node.id in names else ():
            if isinstance(call, ast.Call) and _is(call.func, function.name):
                found |= self._values(call.args[names.index(node.id)], None)
        return found

    def _keys(self, node: ast.expr, function: ast.FunctionDef | None) -> set[str] | None:
        """The names of a mapping; None where the source does not show them."""
        if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
            return {str(ast.literal_eval(key)) for key in node.keys if key}
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            left, right = self._keys(node.left, function), self._keys(node.right, function)
            return None if left is None or right is None else left | right
        assigned = _assigned(node.id, function) if isinstance(node, ast.Name) and function else []
        return self._keys(assigned[0], function) if len(assigned) == 1 else None


def _words(call: ast.Call) -> set[str]:
    return {word.arg for word in call.keywords if word.arg}


def _is(node: ast.AST, name: str | ast.AST) -> bool:
    return ast.unparse(node) == (name if isinstance(name, str) else ast.unparse(name))


def _assigned(name: str, function: ast.FunctionDef) -> list[ast.expr]:
    """What a function assigns to one of its names."""
    found = []
    for node in ast.walk(function):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            found += [value for own, value in pairs if _is(own, name)]
    return found


def modules() -> list[Module]:
    """Every module of the product."""
    return MODULES


MODULES = [
    Module(".".join(path.relative_to(ROOT).with_suffix("").parts), path.read_text("utf-8"))
    for room in ("models", "components", "pages", "exhibits")
    for path in ROOT.glob(f"{room}/**/*.py")
    if not path.name.startswith("test_")
]
OPENED = {name: made for module in MODULES for name, made in module.texts.items()}
