"""What the app says, apart from its code: the files of `content/<language>/`, read again once they have changed.

A text is Markdown with TOML between two lines of +++: a title, and sections under headings of the second order.
`{name}` in it is filled with what was measured: `{loss}` as a number of three digits, `{loss:1}` of one, `{loss:.1%}`
by Python's format, `{loss[post-norm]}` by an index, a mapping as "name: number; ...", an array as "[1, 2.5, -1]".
Formulas are left alone.

A page takes its sentences from `Texts`: a file of sections alone, each of which is filled where it is drawn.

Another language is another folder, an edition: its files have the same names and headings, and what it lacks is read
in English. Nets, options and judges stay those of the English file; `[words]` says how an option or a net is called.
"""

import inspect
import logging
import math
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
from models.log import event

FOLDER = Path(__file__).parents[1] / "content" / "en"  # the edition that has everything
LOOK_SECONDS = 1.0  # between two looks for files that have changed
MAX_BYTES = 200_000  # of a file
FRONT = re.compile(r"\+\+\+\n(.*?\n)\+\+\+\n", re.DOTALL)
PLACEHOLDER = re.compile(r"\{([a-z_]+)(?:\[([^\]{}]+)\])?(?::([^{}]*))?\}")
LEFT_ALONE = re.compile(r"(\$[^$]*\$|`[^`]*`)")
UNSPACED = "[\u3000-\u9fff\uff00-\uffef]"  # characters of a writing without spaces
T = TypeVar("T")


def english() -> str:
    """The edition that has everything."""
    return FOLDER.name


edition: Callable[[], str] = english  # of who reads; the pages put that of their session here


class ContentError(ValueError):
    """A fault in a file, as one sentence that names the file and the line."""


@dataclass
class Document:
    """A file: what stands between its lines of +++, its title, and its sections, each in one line a paragraph."""

    path: Path
    front: dict[str, Any]
    title: str = ""
    sections: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The file's name without its number."""
        return re.sub(r"^\d+-", "", self.path.stem)

    def fault(self, what: str, at: str = "", line: int = 1) -> ContentError:
        """A fault in the first line that holds `at`, or in the line given."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        line = next((count for count, text in enumerate(lines, start=1) if at and at in text), line)
        return ContentError(f"{self.path.relative_to(FOLDER.parents[1])}, line {line}: {what}.")

    def take(self, name: str, kind: type[T], default: T | None = None) -> T:
        """What the front matter says under a name; a fault where it is missing or of another type."""
        value = self.front.pop(name, default)
        if value is None:
            raise self.fault(f"{name} is missing")
        if not isinstance(value, kind):
            raise self.fault(f"{name} must be {_kind(kind)}", name)
        return value

    def section(self, name: str, default: str | None = None) -> str:
        """The text under a heading; a fault where there is none."""
        text = self.sections.pop(name, default)
        if text is None:
            raise self.fault(f"the section “{name}” is missing")
        return text

    def end(self) -> None:
        """After all is taken: a fault where something is left over, or misspelled."""
        for name in (*self.front, *self.sections):
            raise self.fault(f"nothing is called “{name}” here", name)

    def check(self, texts: Iterable[str], names: Iterable[str]) -> None:
        """A fault where the texts have a placeholder for which nothing is measured."""
        known = set(names)
        for name in (name for text in texts for name in placeholders(text) if name not in known):
            raise self.fault(f"nothing measured is called “{name}”; there is {', '.join(sorted(known))}", f"{{{name}")


def _kind(kind: type) -> str:
    return {str: "a text", list: "a list", dict: "a table", float: "a number", int: "a whole number"}[kind]


def read(path: Path) -> Document:
    """A file's text, or a fault. TOML alone has no sections."""
    text = Document(path, {})
    if path.stat().st_size > MAX_BYTES:
        raise text.fault(f"it is longer than {MAX_BYTES:,} bytes")
    try:
        whole = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ContentError(f"{path.name}, line 1: it is not UTF-8.") from None
    front = FRONT.match(whole)
    if path.suffix == ".md" and not front and not whole.startswith("# "):
        raise text.fault("it does not begin with TOML between two lines of +++")
    before = 0 if front is None else 1
    try:
        text.front = tomllib.loads(front[1] if front else whole if path.suffix == ".toml" else "")
    except tomllib.TOMLDecodeError as error:
        what, _, at = str(error).partition(" (at line ")
        line = int(at.partition(",")[0]) + before if at[:1].isdigit() else whole.count("\n")
        name = path.relative_to(FOLDER.parents[1])
        raise ContentError(f"{name}, line {line}: {what[:1].lower()}{what[1:]}.") from None
    if path.suffix == ".md":
        title, *sections = re.split(r"^## ", whole[front.end() if front else 0 :], flags=re.MULTILINE)
        text.title = folded(title.strip().removeprefix("# "))
        for section in sections:
            heading, _, body = section.partition("\n")
            text.sections[heading.strip()] = folded(body)
    return text


def folded(text: str) -> str:
    """Paragraphs and points of a list in one line each; a line that ends in Chinese goes on without a space."""
    lines = re.sub(rf"(?<={UNSPACED})\n(?={UNSPACED})", "", text.strip())
    paragraphs = [re.split(r"\n(?=- )", part) for part in re.split(r"\n\s*\n", lines)]
    return "\n\n".join("\n".join(" ".join(point.split()) for point in points) for points in paragraphs)


def placeholders(text: str) -> list[str]:
    """The names in braces, outside of formulas and code."""
    return [match[1] for part in LEFT_ALONE.split(text)[::2] for match in PLACEHOLDER.finditer(part)]


def fill(text: str, measured: Mapping[str, Any]) -> str:
    """A text with what was measured in its placeholders."""

    def said(match: re.Match[str]) -> str:
        value, index = measured[match[1]], match[2]
        if index is not None:
            value = value[int(index) if re.fullmatch(r"-?\d+", index) else index]
        return spoken(value, match[3] or "")

    return "".join(part if at % 2 else PLACEHOLDER.sub(said, part) for at, part in enumerate(LEFT_ALONE.split(text)))


def spoken(value: Any, how: str = "") -> str:
    """A measured value as text, as the module says; in a mapping, what is not finite has diverged."""
    if callable(value):
        return str(value(how))
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {spoken(one, how) if _finite(one) else 'diverged'}" for name, one in value.items())
    if isinstance(value, np.ndarray) and value.ndim:
        return f"[{', '.join(spoken(entry, how).replace(',', '') for entry in value.astype(float))}]"
    if isinstance(value, str | tuple) or (isinstance(value, Integral) and not how):
        return str(value)
    return number(float(value), int(how or 3)) if how.isdigit() or not how else format(value, how)


def _finite(value: Any) -> bool:
    return isinstance(value, str) or bool(np.isfinite(value))


def bound(text: Document, function: Callable[..., T], settings: Mapping[str, Any], **more: Any) -> Callable[..., T]:
    """A function with the settings that a file gives it; a fault where it has none of that name, or lacks one."""
    takes = list(inspect.signature(function).parameters)[1:]
    for name in settings.keys() - set(takes):
        raise text.fault(f"nothing is called “{name}” here; there is {', '.join(takes) or 'nothing to set'}", name)
    given = {name: value for name, value in {**more, **settings}.items() if name in takes}
    try:
        inspect.signature(function).bind(None, **given)
    except TypeError as error:
        raise text.fault(str(error), function.__name__) from None
    return partial(function, **given)


def editions() -> dict[str, str]:
    """The names of the languages by folder."""
    return {path.parent.name: read(path).front["name"] for path in sorted(FOLDER.parent.glob("*/edition.toml"))}


def translated(text: Document, own: Document) -> Document:
    """An English file in the words of another edition's; a fault where the two do not fit."""
    document = Document(own.path, dict(text.front), own.title or text.title, text.sections | own.sections)
    for heading in own.sections.keys() - text.sections.keys():
        raise own.fault(f"nothing is called “{heading}” in English", heading)
    for heading, text_of_section in own.sections.items():
        _same_placeholders(own, text.sections[heading], text_of_section)
    if own.path.suffix == ".md":
        document.front |= {"words": own.take("words", dict, {})}
    for name, table in own.front.items():
        if not isinstance(table, dict) or not isinstance(text.front.get(name), dict):
            raise own.fault(f"no table is called “{name}” in English", name)
        for key, text_of_section in table.items():
            english = text.front[name].get(key)
            if type(english) is not type(text_of_section):
                raise own.fault(f"nothing is called “{name}.{key}” in English", key)
            _same_placeholders(own, str(english), str(text_of_section))
        document.front[name] = text.front[name] | table
    return document


def _same_placeholders(own: Document, english: str, translation: str) -> None:
    for name in {*placeholders(english)} ^ {*placeholders(translation)}:
        raise own.fault(
            f"“{name}” is filled in on one side only, here or in English",
            f"{{{name}" if name in translation else translation[:9],
        )


def lacks(text: Document, own: Document) -> list[str]:
    """What an edition's file does not say, by heading or table."""
    missing = [*(text.sections.keys() - own.sections.keys())]
    return missing + [
        name for name, table in text.front.items() if own.path.suffix == ".toml" and name not in own.front
    ]


class Content(Mapping[str, T]):
    """What some files say, by key, in the edition of who reads.

    They are read at once, and again as soon as one of them, or of `also`, has changed. ContentError where the first
    reading fails; where a later one does, it is logged and what was read before stays.
    """

    def __init__(self, files: str, make: Callable[[list[Document]], dict[str, T]], *also: str) -> None:
        self._files, self._make, self._also = files, make, also
        self._made: dict[str, dict[str, T]] = {}
        self._stamps: dict[str, list[tuple[Path, int, int]]] = {}
        self._looked: dict[str, float] = {}
        self._load(FOLDER.name)

    def _now(self, language: str) -> list[tuple[Path, int, int]]:
        folders = {FOLDER, FOLDER.parent / language}
        paths = sorted(path for files in (self._files, *self._also) for one in folders for path in one.glob(files))
        return [(path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths]

    def _load(self, language: str) -> None:
        self._stamps[language], self._looked[language] = self._now(language), time.monotonic()
        texts, missing = [read(path) for path in sorted(FOLDER.glob(self._files))], []
        for at, text in enumerate(texts if language != FOLDER.name else ()):
            path = FOLDER.parent / language / text.path.relative_to(FOLDER)
            if path.exists():
                own = read(path)
                missing += [f"{path.name}: {name}" for name in lacks(text, own)]
                texts[at] = translated(text, own)
            else:
                missing.append(path.name)
        if missing:
            event("content_untranslated", language=language, lacks=len(missing), first=missing[0])
        self._made[language] = self._make(texts)

    def _current(self) -> dict[str, T]:
        language = edition()
        if time.monotonic() - self._looked.get(language, -math.inf) >= LOOK_SECONDS:
            self._looked[language] = time.monotonic()
            try:
                if self._now(language) != self._stamps.get(language):
                    self._load(language)
            except (ContentError, OSError) as error:
                event("content_refused", logging.WARNING, sentence=str(error))
        return self._made.get(language, self._made[FOLDER.name])

    def __getitem__(self, key: str) -> T:
        return self._current()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._current())

    def __len__(self) -> int:
        return len(self._current())


def tables(texts: list[Document]) -> dict[str, dict[str, str]]:
    """The tables of a TOML file, whose values are all texts, or a fault."""
    (text,) = texts
    by_name = {}
    for name in list(text.front):
        own = Document(text.path, text.take(name, dict))
        by_name[name] = {key: folded(own.take(key, str)) for key in list(own.front)}
    return by_name


class Texts:
    """The sections of a file, each called by its heading with what fills its placeholders.

    `TEXTS = Texts("labs/residual")`, then `TEXTS("what is left", blocks=24)`. `constants` fill those of any section.
    tests/test_content.py compares every call with its section, also where the heading is a variable.
    """

    def __init__(self, name: str, **constants: Any) -> None:
        self._document = Content(f"{name}.md", lambda files: {"": files[0]})
        self._constants = constants

    @property
    def title(self) -> str:
        """The file's title."""
        return self._document[""].title

    def __call__(self, heading: str, **measured: Any) -> str:
        document = self._document[""]
        text, measured = document.sections[heading], self._constants | measured
        document.check([text], measured)
        return fill(text, measured)


PLAYER = Content("player.toml", tables)  # what the player, the frame of the pages and labels of controls say


def phrases() -> dict[str, str]:
    """The patterns and what stands for them; none in English, in which the player is written."""
    return {} if edition() == english() else PLAYER["player"]


def phrase(said: str) -> str:
    """A text of the frame, a control or a diagram, in the language of who reads."""
    return PLAYER["player"].get(said, said)
