"""Quotes definitions of the app's modules with their dependencies, by parsing the source instead of importing torch."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]

Definition = tuple[str, str]  # module, name
GENERATOR: Definition = ("models.generator", "generator")


def quote_definitions(*definitions: Definition, quoted: Iterable[Definition] = ()) -> str:
    """Source of top-level definitions and what they need, each once and before its first use, but not of `quoted`."""
    sources = dict.fromkeys(quoted, "")
    for module, name in definitions:
        _collect(module, name, sources)
    blocks = previous = ""
    for text in filter(None, sources.values()):
        short = not text.startswith(("def ", "class ", "@"))
        blocks += ("" if not previous else "\n" if short and previous == "short" else "\n\n\n") + text
        previous = "short" if short else "long"
    return blocks


@cache
def arguments_of(module: str, name: str, key: str = "") -> tuple[str, ...]:
    """Source of the arguments of the call that is assigned to a top-level name, or to a key of its dict."""
    source, definitions, _ = _parsed(module)
    assigned = definitions[name]
    assert isinstance(assigned, ast.Assign | ast.AnnAssign)
    call = assigned.value
    if isinstance(call, ast.Dict):
        call = next(
            value
            for dict_key, value in zip(call.keys, call.values, strict=True)
            if dict_key and ast.literal_eval(dict_key) == key
        )
    assert isinstance(call, ast.Call)
    return tuple(ast.get_source_segment(source, argument) or "" for argument in call.args)


def _collect(module: str, name: str, sources: dict[Definition, str]) -> None:
    """Adds the source of a definition to `sources`, after those of its dependencies."""
    source, definitions, imports = _parsed(module)
    if name in imports:
        _collect(imports[name], name, sources)
        return
    if name not in definitions or (module, name) in sources:
        return
    node = definitions[name]
    for dependency in sorted({part.id for part in ast.walk(node) if isinstance(part, ast.Name)} - {name}):
        _collect(module, dependency, sources)
    sources[module, name] = _source_with_decorators(source, node)


def _source_with_decorators(source: str, node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", [])
    first_line = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return "\n".join(source.splitlines()[first_line - 1 : node.end_lineno])


@cache
def _parsed(module: str) -> tuple[str, dict[str, ast.stmt], dict[str, str]]:
    """A module's source, its top-level definitions, and the module of the app that each imported name comes from."""
    source = (ROOT / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8")
    definitions: dict[str, ast.stmt] = {}
    imports: dict[str, str] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions[node.name] = node
        elif isinstance(node, ast.Assign):
            definitions |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            definitions[node.target.id] = node
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("models."):
            imports |= {alias.name: node.module for alias in node.names}
    return source, definitions, imports
