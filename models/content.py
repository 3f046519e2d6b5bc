"""The app's texts: the files of `content/en/` and the words of exhibits, reloaded when they change.

A text is Markdown with TOML between two lines of +++: a title, and sections under second-level headings. Placeholders
are filled with measured values: `{loss}` with three significant digits, `{loss:1}` with one, `{loss:.1%}` in Python's
format, `{loss[post-norm]}` by an index, a mapping as "name: number; ...", an array as "[1, 2.5, -1]". Formulas and code
have no placeholders.

Pages take their sentences from `Texts`, which are files of sections without front matter.
"""

import inspect
import logging
import re
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from addnorm.words import number
from models.exhibits import FOLDER as EXHIBITS
from models.log import event

FOLDER = Path(__file__).parents[1] / "content" / "en"
CHECK_SECONDS = 1.0  # between checks for changed files
MAX_BYTES = 200_000  # of a file
SIGNIFICANT_DIGITS = 3  # of a number whose placeholder has no format
FRONT = re.compile(r"\+\+\+\n(.*?\n)\+\+\+\n", re.DOTALL)
PLACEHOLDER = re.compile(r"\{([a-z_]+)(?:\[([^\]{}]+)\])?(?::([^{}]*))?\}")
LEFT_ALONE = re.compile(r"(\$[^$]*\$|`[^`]*`)")
SEARCHED = ("asked", "symptoms")  # entries of any front matter, which the search alone reads
T = TypeVar("T")


class ContentError(ValueError):
    """An error in a content file, as one sentence that names file and line."""


@dataclass
class Document:
    """A content file: front matter, title, and sections, with one line per paragraph."""

    path: Path
    front: dict[str, Any]
    title: str = ""
    sections: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """File name without extension and leading number; of an exhibit's words its folder's, with - for _."""
        if self.path.name.startswith("words."):
            return self.path.parent.name.replace("_", "-")
        return re.sub(r"^\d+-", "", self.path.stem)

    def fault(self, problem: str, fragment: str = "", line: int = 1) -> ContentError:
        """The error of the first line that contains `fragment`, or of `line`."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        if fragment:
            line = next((number for number, text in enumerate(lines, start=1) if fragment in text), line)
        return ContentError(f"{self.path.relative_to(FOLDER.parents[1])}, line {line}: {problem}.")

    def take(self, name: str, expected: type[T], default: T | None = None) -> T:
        """Removes and returns an entry of the front matter; ContentError if it is missing or of another type."""
        value = self.front.pop(name, default)
        if value is None:
            raise self.fault(f"{name} is missing")
        if not isinstance(value, expected):
            raise self.fault(f"{name} must be {_type_in_words(expected)}", name)
        return value

    def section(self, name: str, default: str | None = None) -> str:
        """Removes and returns the section under a heading; ContentError if it is missing."""
        text = self.sections.pop(name, default)
        if text is None:
            raise self.fault(f"the section “{name}” is missing")
        return text

    def require_all_taken(self) -> None:
        """ContentError if any entry or section has not been taken, such as a misspelled one."""
        for name in [name for name in (*self.front, *self.sections) if name not in SEARCHED]:
            raise self.fault(f"nothing is called “{name}” here", name)

    def check(self, texts: Iterable[str], names: Iterable[str]) -> None:
        """ContentError if the texts have a placeholder that is not among the measured names."""
        measured = set(names)
        for text in texts:
            for name in placeholders(text):
                if name not in measured:
                    legal = ", ".join(sorted(measured))
                    raise self.fault(f"nothing measured is called “{name}”; there is {legal}", f"{{{name}")


def _type_in_words(expected: type) -> str:
    return {str: "a text", list: "a list", dict: "a table", float: "a number", int: "a whole number"}[expected]


def read(path: Path) -> Document:
    """Reads and parses a file; raises ContentError. A .toml file has no sections."""
    text = Document(path, {})
    if path.stat().st_size > MAX_BYTES:
        raise text.fault(f"it is longer than {MAX_BYTES:,} bytes")
    try:
        content = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ContentError(f"{path.name}, line 1: it is not UTF-8.") from None
    front = FRONT.match(content)
    if path.suffix == ".md" and not front and not content.startswith("# "):
        raise text.fault("it does not begin with TOML between two lines of +++")
    if front:
        text.front = _parse_toml(path, front[1], lines_before=1, lines=content.count("\n"))
    elif path.suffix == ".toml":
        text.front = _parse_toml(path, content, lines_before=0, lines=content.count("\n"))
    if path.suffix == ".md":
        title, *sections = re.split(r"^## ", content[front.end() if front else 0 :], flags=re.MULTILINE)
        text.title = unwrapped(title.strip().removeprefix("# "))
        for section in sections:
            heading, _, body = section.partition("\n")
            text.sections[heading.strip()] = unwrapped(body)
    return text


def _parse_toml(path: Path, toml: str, *, lines_before: int, lines: int) -> dict[str, Any]:
    """Parses the TOML of a file of `lines` lines, after its first `lines_before`; raises ContentError."""
    try:
        return tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        message, _, position = str(error).partition(" (at line ")
        line = int(position.partition(",")[0]) + lines_before if position[:1].isdigit() else lines
        name = path.relative_to(FOLDER.parents[1])
        raise ContentError(f"{name}, line {line}: {message[:1].lower()}{message[1:]}.") from None


def unwrapped(text: str) -> str:
    """Joins the lines of each paragraph and list item."""
    paragraphs = [re.split(r"\n(?=- )", part) for part in re.split(r"\n\s*\n", text.strip())]
    return "\n\n".join("\n".join(" ".join(point.split()) for point in points) for points in paragraphs)


def placeholders(text: str) -> list[str]:
    """Names of the placeholders outside formulas and code."""
    return [match[1] for part in LEFT_ALONE.split(text)[::2] for match in PLACEHOLDER.finditer(part)]


def fill(text: str, measured: Mapping[str, Any]) -> str:
    """The text with measured values in place of its placeholders."""

    def formatted_match(match: re.Match[str]) -> str:
        value, index = measured[match[1]], match[2]
        if index is not None:
            value = value[int(index) if re.fullmatch(r"-?\d+", index) else index]
        return formatted(value, match[3] or "")

    filled = LEFT_ALONE.split(text)
    filled[::2] = (PLACEHOLDER.sub(formatted_match, part) for part in filled[::2])
    return "".join(filled)


def formatted(value: Any, format_spec: str = "") -> str:
    """A value as text by the module's rules; non-finite values in a mapping become "diverged"."""
    if callable(value):
        return str(value(format_spec))
    if isinstance(value, Mapping):
        return "; ".join(
            f"{name}: {formatted(entry_value, format_spec) if _is_finite(entry_value) else 'diverged'}"
            for name, entry_value in value.items()
        )
    if isinstance(value, np.ndarray) and value.ndim:
        return f"[{', '.join(formatted(entry, format_spec).replace(',', '') for entry in value.astype(float))}]"
    if isinstance(value, str | tuple) or (isinstance(value, Integral) and not format_spec):
        return str(value)
    if format_spec and not format_spec.isdigit():
        return format(value, format_spec)
    return number(float(value), int(format_spec or SIGNIFICANT_DIGITS))


def _is_finite(value: Any) -> bool:
    return isinstance(value, str) or bool(np.isfinite(value))


def bind_settings(
    text: Document, function: Callable[..., T], settings: Mapping[str, Any], **defaults: Any
) -> Callable[..., T]:
    """Partially applies a function to a file's settings; ContentError for unknown or missing settings.

    Its first parameter stays open; `defaults` apply if it has parameters of these names.
    """
    parameters = list(inspect.signature(function).parameters)[1:]
    for name in settings.keys() - set(parameters):
        raise text.fault(f"nothing is called “{name}” here; there is {', '.join(parameters) or 'nothing to set'}", name)
    arguments = {name: value for name, value in {**defaults, **settings}.items() if name in parameters}
    try:
        inspect.signature(function).bind(None, **arguments)
    except TypeError as error:
        raise text.fault(str(error), function.__name__) from None
    return partial(function, **arguments)


def paths(files: str) -> dict[str, Path]:
    """Files by name, such as "lessons/*.md"; `exhibits/maps/new/words.md` is called "maps/new.md"."""
    by_name = {path.relative_to(FOLDER).as_posix(): path for path in FOLDER.glob(files)}
    for path in EXHIBITS.glob(f"{files.removesuffix('.md')}/words.md") if files.endswith(".md") else ():
        by_name[f"{path.parent.relative_to(EXHIBITS).as_posix()}.md"] = path
    return dict(sorted(by_name.items()))


class Content(Mapping[str, T]):
    """Contents of some files by key.

    Files load at once and reload when one of them, or of `also`, changes. A failing first load raises ContentError; a
    failing reload is logged and keeps the earlier contents.
    """

    def __init__(self, files: str, parse: Callable[[list[Document]], dict[str, T]], *also: str) -> None:
        self._files = files
        self._parse = parse
        self._also = also
        self._load()

    def _file_stamps(self) -> list[tuple[Path, int, int]]:
        watched = sorted(path for files in (self._files, *self._also) for path in paths(files).values())
        return [(path, path.stat().st_mtime_ns, path.stat().st_size) for path in watched]

    def _load(self) -> None:
        self._stamps = self._file_stamps()
        self._checked_at = time.monotonic()
        self._contents = self._parse([read(path) for path in paths(self._files).values()])

    def _current(self) -> dict[str, T]:
        if time.monotonic() - self._checked_at >= CHECK_SECONDS:
            self._checked_at = time.monotonic()
            try:
                if self._file_stamps() != self._stamps:
                    self._load()
            except (ContentError, OSError) as error:
                event("content_refused", logging.WARNING, sentence=str(error))
        return self._contents

    def __getitem__(self, key: str) -> T:
        return self._current()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._current())

    def __len__(self) -> int:
        return len(self._current())


def text_tables(texts: list[Document]) -> dict[str, dict[str, str]]:
    """Tables of a TOML file whose values are all texts; raises ContentError."""
    (text,) = texts
    by_name = {}
    for name in list(text.front):
        table = Document(text.path, text.take(name, dict))
        by_name[name] = {key: unwrapped(table.take(key, str)) for key in list(table.front)}
    return by_name


class Texts:
    """The sections of a file, called by their heading with the values of their placeholders.

    `TEXTS = Texts("labs/residual")`, then `TEXTS("what is left", blocks=24)`. `constants` are values for all sections.
    tests/test_content.py compares every call with its section, even if the heading is a variable.
    """

    def __init__(self, name: str, **constants: Any) -> None:
        self._document = Content(f"{name}.md", lambda files: {"": files[0]})
        self._constants = constants

    @property
    def title(self) -> str:
        return self._document[""].title

    def __call__(self, heading: str, **measured: Any) -> str:
        document = self._document[""]
        text, measured = document.sections[heading], self._constants | measured
        document.check([text], measured)
        return fill(text, measured)
