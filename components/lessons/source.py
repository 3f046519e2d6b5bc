"""Excerpts of the app's own source: the code that a lesson is about."""

import ast
from functools import cache
from pathlib import Path

from models.lessons.lessons import Code

ROOT = Path(__file__).parents[2]


@cache
def excerpt(code: Code) -> str:
    """Source of a class, function or method ("Class.method"), without indent. ValueError if the file lacks it."""
    text = (ROOT / code.path).read_text(encoding="utf-8")
    body: list[ast.stmt] = ast.parse(text).body
    definition: ast.stmt | None = None
    for part in code.name.split("."):
        definition = next((node for node in body if getattr(node, "name", "") == part), None)
        if definition is None:
            raise ValueError(f"{code.path} has no {code.name}")
        body = getattr(definition, "body", [])
    assert definition is not None
    lines = text.splitlines()[definition.lineno - 1 : definition.end_lineno]
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in lines)
