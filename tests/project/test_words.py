"""What the app's own words must not be: notes that no visitor has, numbered examples, names of data in sentences."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("components", "exhibits", "pages", "models/lessons", "models/claims", "models/papers", "models/labs")
FILES = sorted(
    path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if not path.name.startswith("test_")
)
# A sentence has a blank beside the word; a key of data is the word alone.
UNKNOWN = {
    "notes that no visitor has": r"\b[Tt]he (lecture )?notes\b|\b[Nn]otes'",
    "a numbered example": r"\bExamples? \d",
    "a site's name in the data": r"(\s|^)(x0|b\d\d)\b[ .,:;']|\s(x0|b\d\d)\b",
}


def texts(path: Path) -> Iterator[str]:
    """All strings of a file that are no docstrings; an f-string's parts one by one."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


@pytest.mark.parametrize("what", UNKNOWN)
def test_no_text_of_a_page_has_words_that_a_visitor_does_not_know(what: str) -> None:
    found = [(path.name, text) for path in FILES for text in texts(path) if re.search(UNKNOWN[what], text)]
    assert found == []


# Words that fit any value, and so say nothing of it.
FILLERS = frozenset(["asked", "found", "given", "held", "kept", "known", "made", "one", "own", "said", "thing", "told"])
CODE = [
    path
    for folder in ("addnorm", "benchmarks", "components", "exhibits", "models", "pages")
    for path in (ROOT / folder).rglob("*.py")
    if not path.name.startswith("test_")
]


def names_in(tree: ast.AST) -> Iterator[str]:
    """What a module defines or assigns: functions, classes, parameters, variables and attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def test_no_name_in_the_code_is_a_word_that_fits_anything() -> None:
    names = {(path.name, name) for path in CODE for name in names_in(ast.parse(path.read_text("utf-8")))}
    assert [(file, name) for file, name in sorted(names) if name.strip("_") in FILLERS] == []
