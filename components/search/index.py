"""The index of the search: everything that can be opened, in SQLite's FTS5, built when it is first asked."""

import ast
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import NamedTuple
from urllib.parse import urlencode

from components.controls.panel import SCENES
from components.shell import compare_link
from models import exhibits
from models.content import PLACEHOLDER, Content, Document, Texts
from models.experiment import net_config
from models.insight.words import count_in_words
from models.lessons.glossary import ENTRIES, SYNONYMS, key_of, nearest_term
from models.spec import knobs
from models.spec.query import slug

MAX_CHARS = 200  # of a question; the rest is not read
MAX_RESULTS = 8
MAX_SAID = 160  # characters of what a result says
MAX_RANKED = 100  # entries that are compared
WEIGHTS = "6, 6, 2, 1"  # of the columns: title, what else it is asked by, what it says, all its other words
COLUMNS = "title, asked, says, words"
MARKUP = re.compile(r"\]\([^)]*\)|[*_`$\[\]{}|#\\]")
TEXTS = Texts("search")


class PageWords(NamedTuple):
    """A page of the navigation: address, title and what it is for."""

    address: str
    title: str
    tip: str


@dataclass(frozen=True)
class Findable:
    """What a search can find. `says`: a line of it. `other_words`: by which people ask for it. `href`: where it opens.

    `remedy`: of a symptom, the address that lays the healthy net beside the sick one.
    """

    kind: str
    title: str
    says: str
    href: str
    other_words: str = ""
    words: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Results:
    """What was found, the best first, and one sentence on it."""

    sentence: str
    entries: Sequence[Findable] = ()


pages: list[PageWords] = []  # of the navigation, which sets them


def answer(text: str) -> Results:
    """The best entries for a question in anybody's words; any text has an answer."""
    typed = _words(text[:MAX_CHARS])
    named = [word for word in typed if word not in SYNONYMS["stop"]["words"].split()]
    if not named and " ".join(typed) in ENTRIES:
        named = typed
    if not named:
        return Results(TEXTS("stop words") if typed else TEXTS("nothing"))
    index, near = _index()[""], ""
    entries = index.find(named, " ".join(typed), is_typing=not text[:MAX_CHARS].endswith(" "))
    if not entries and (near := nearest_term(" ".join(named))):
        entries = index.find(_words(near), "", is_typing=False)
    if len(text) > MAX_CHARS:
        return Results(TEXTS("cut", count=MAX_CHARS), entries)
    if near:
        return Results(TEXTS("nearest", term=ENTRIES[near].word), entries)
    return Results(
        TEXTS("found", results=count_in_words(len(entries), "result")) if entries else TEXTS("not found"), entries
    )


class Index:
    """The entries, and the table in which FTS5 looks for their words. Any thread may ask it."""

    def __init__(self, entries: Sequence[Findable]) -> None:
        self.entries = entries
        self._lock = Lock()
        self._table = sqlite3.connect(":memory:", check_same_thread=False)
        self._table.execute(f"CREATE VIRTUAL TABLE entry USING fts5({COLUMNS}, tokenize='porter unicode61')")
        rows = [(entry.title, entry.other_words, entry.says, entry.words) for entry in entries]
        self._table.executemany("INSERT INTO entry VALUES (?, ?, ?, ?)", rows)

    def find(self, words: Sequence[str], question: str, *, is_typing: bool) -> list[Findable]:
        """The entries with any of the words: what the question names, then the best.

        While somebody `is_typing`, the last word may be the beginning of one.
        """
        terms = [" ".join(_words(term)) for term in _terms_named(question)]
        query = " OR ".join(f'"{phrase}"' for phrase in dict.fromkeys([*words, *terms]))
        if is_typing and len(words[-1]) > 2 and not self._ranked(f'"{words[-1]}"'):
            query += f' OR "{words[-1]}"*'
        best: dict[str, Findable] = {}  # of several at one address
        for entry in self._ranked(query):
            best.setdefault(entry.href, entry)
        names = [question.split(), _words(SYNONYMS["synonyms"].get(question, ""))]
        return sorted(best.values(), key=lambda entry: _words(entry.title) not in names)[:MAX_RESULTS]

    def _ranked(self, query: str) -> list[Findable]:
        """The entries that match a query of FTS5, the best first."""
        match = f"SELECT rowid FROM entry WHERE entry MATCH ? ORDER BY bm25(entry, {WEIGHTS}) LIMIT {MAX_RANKED}"
        with self._lock:
            return [self.entries[row - 1] for (row,) in self._table.execute(match, (query,))]


@cache
def _index() -> Content[Index]:
    """The index, under the key ""; it is built again when a text has changed."""
    return Content("**/*.md", lambda texts: {"": Index([*_entries(texts)])}, "*.toml")


def _words(text: str) -> list[str]:
    """The words of a text in lower case, without signs."""
    return re.findall(r"[^\W_]+", text.casefold())


def _terms_named(question: str) -> Iterator[str]:
    """The app's terms for what a question calls otherwise."""
    for synonym, term in SYNONYMS["synonyms"].items():
        if f" {synonym} " in f" {question} ":
            yield term.replace('"', "")


def _entries(texts: Sequence[Document]) -> Iterator[Findable]:
    for page in pages:
        script = exhibits.FOLDER.parent / "pages" / f"{page.address or 'start'}.py"
        doc = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
        yield Findable("page", page.title, page.tip or doc.removeprefix(f"{page.title}: "), page.address)
    shown = [text for text in texts if text.path.is_relative_to(exhibits.FOLDER)]
    for text in sorted(shown, key=lambda text: text.front.get("order", 0)):
        kind, *names = text.path.parent.relative_to(exhibits.FOLDER).parts
        front = Document(text.path, dict(text.front))
        other_words = ". ".join(front.take("asked", list, []))
        words = _plain(" ".join(text.sections.values()))
        title, says, query, entry_kind = FOUND_AS[kind](text, names, shown)
        yield Findable(entry_kind, _plain(title), _first_sentence(says), query, other_words, words)
        for symptom in front.take("symptoms", list, []):
            yield _symptom(text, Document(text.path, dict(symptom)))
    yield from _settings()
    yield from _terms()


Found = tuple[str, str, str, str]  # title, what it says, address, kind


def _lesson(text: Document, names: Sequence[str], shown: Sequence[Document]) -> Found:
    return text.title, text.sections["Question"], _address("lessons", lesson=text.key), "lesson"


def _claim(text: Document, names: Sequence[str], shown: Sequence[Document]) -> Found:
    return f"“{text.title}”", text.sections["Experiment"], _address("claims", claim=text.key), "claim"


def _paper(text: Document, names: Sequence[str], shown: Sequence[Document]) -> Found:
    return text.title, text.front["paper"].replace(".", ""), _address("papers", paper=text.key), "paper"


def _instrument(text: Document, names: Sequence[str], shown: Sequence[Document]) -> Found:
    return text.front["name"], text.title, _address("playground", instrument=slug(text.front["name"])), "instrument"


def _lab(text: Document, names: Sequence[str], shown: Sequence[Document]) -> Found:
    """A lab, or a part of one: in its tab, or in the closer look of the part that draws it."""
    if len(names) == 1:
        return text.title, text.sections["lead"], names[0], "lab"
    lab = text.path.parents[1]
    (title,) = (other.title for other in shown if other.path.parent == lab)
    parts = {other.path.parent.name: other for other in shown if other.path.parents[1] == lab}
    titles = {name: other.title for name, other in parts.items()}
    has_tabs = len({other.title for other in parts.values() if "within" not in other.front}) > 1
    within = text.front.get("within", "")
    query = {"part": titles[within]} if within and has_tabs else {}
    query |= {"closer" if within and has_tabs else "part": text.title} if within or has_tabs else {}
    says = next((section for section in text.sections.values() if not PLACEHOLDER.search(section)), "")
    address = _address(names[0], **{key: slug(title) for key, title in query.items()})
    return text.title, says, address, f"{title} lab"


FOUND_AS: Mapping[str, Callable[[Document, Sequence[str], Sequence[Document]], Found]] = {
    "lessons": _lesson,
    "claims": _claim,
    "papers": _paper,
    "instruments": _instrument,
    "labs": _lab,
}


def _symptom(text: Document, symptom: Document) -> Findable:
    """What goes wrong, as an instrument announces it: the net that shows it, below that instrument, and the remedy."""
    seen, net = symptom.take("seen", str), symptom.take("net", dict)
    sick, healthy = (net_config(text, {**net, **change}, seen) for change in ({}, symptom.take("remedy", dict)))
    shown = _address("playground", **sick.to_query(), instrument=slug(text.front["name"]))
    remedy = _address("compare", **compare_link.to_query([sick, healthy], 1))
    other_words = ". ".join(symptom.take("asked", list))
    entry = Findable("symptom", seen, symptom.take("helps", str), shown, other_words, remedy=remedy)
    symptom.require_all_taken()
    return entry


def _settings() -> Iterator[Findable]:
    """The controls of a net; one that not every kind of net has opens on a net that has it."""
    for name, (_, knob) in knobs().items():
        if name == "overrides":
            continue  # has no control of its own
        words = " ".join(map(str, (name, *(knob.choices or ()), *(knob.rules or ()))))
        (net, *others) = knob.nets
        fields = {} if others else {"net": net} | {key: str(value) for key, value in SCENES[net].items()}
        address = _address("playground", setting=name, **fields)
        yield Findable("setting", knob.label, _first_sentence(knob.help), address, words=words)


def _terms() -> Iterator[Findable]:
    """The glossary's terms, except those that are a setting and nothing else."""
    labels = {key_of(knob.label) for _, knob in knobs().values()}
    for key, entry in ENTRIES.items():
        if key in labels and len(entry.senses) == 1:
            continue
        text = _plain(" ".join(sense.text for sense in entry.senses))
        sources = " ".join(sense.source for sense in entry.senses)
        yield Findable(
            "term", entry.word, _first_sentence(text), _address("glossary", word=slug(key)), words=f"{text} {sources}"
        )


def _address(page: str, **query: str) -> str:
    """A page with its query, relative to the app's own address."""
    return f"{page}?{urlencode(query)}"


def _plain(text: str) -> str:
    """A text without Markdown, placeholders and formulas' signs."""
    return " ".join(MARKUP.sub(" ", PLACEHOLDER.sub(" ", text)).split())


def _first_sentence(text: str) -> str:
    """The beginning of a text: its first sentence, cut where that is long."""
    first = re.split(r"(?<=[.?!])\s", _plain(text), maxsplit=1)[0]
    if len(first) <= MAX_SAID:
        return first
    end = first.rfind(" ", 0, MAX_SAID)
    return first[: end if end > 0 else MAX_SAID] + " ..."
