"""Exhibits: a folder each below `exhibits/`, listed by its files. No name that the listing lacks is ever imported."""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from models.answers import Question

FOLDER = Path(__file__).parents[1] / "exhibits"


def listed(kind: str, file: str) -> list[str]:
    """Names of the exhibits of a kind, such as "instruments", that have a file, such as "page"; of labs "lab/part"."""
    return sorted(path.parent.relative_to(FOLDER / kind).as_posix() for path in FOLDER.glob(f"{kind}/**/{file}.py"))


def part(kind: str, name: str, file: str) -> ModuleType:
    """Imports a file of an exhibit; KeyError for one that is not listed."""
    if name not in listed(kind, file):
        raise KeyError(f"{name} of {kind} has no {file}.py")
    return import_module(f"exhibits.{kind}.{name.replace('/', '.')}.{file}")


def beside(words: Path, file: str) -> ModuleType | None:
    """Imports a file of the exhibit that has these words, if it has one."""
    kind, name = words.parts[-3:-1]
    is_there = (FOLDER / kind / name / f"{file}.py").exists()
    return import_module(f"exhibits.{kind}.{name}.{file}") if is_there else None


def questions() -> dict[Question[Any], tuple[str, str]]:
    """The questions to the trainer that exhibits have in `answer.py`, each with its exhibit's kind and name."""
    return {
        value: (kind, name)
        for kind in sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir())
        for name in listed(kind, "answer")
        for value in vars(part(kind, name, "answer")).values()
        if isinstance(value, Question)
    }
