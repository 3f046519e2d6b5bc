"""The glossary: every control, option, arrangement and other term of the app, alphabetically, numbers last.

Fields, options and arrangements provide their own definitions; `content/en/glossary.toml` has all other terms. A term
with several meanings (the control Residual, the stack ResiDual) has one entry with several senses.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from models.content import Content, Document, fill, text_tables, unwrapped
from models.insight import verdict
from models.insight.words import number
from models.spec import ARRANGEMENTS, knobs
from models.spec.knob import Knob
from models.spec.placement import PLACEMENTS
from models.spec.tasks import MAX_TOKENS

PAGES = {page.stem for page in Path(__file__).parents[2].glob("pages/*.py")}
# Values of the placeholders: thresholds of the verdicts, and facts from the vocabularies.
NUMBERS: dict[str, Any] = {
    "exploding": verdict.EXPLODING,
    "adam_exploding": verdict.ADAM_EXPLODING,
    "loud_gradient": verdict.LOUD_GRADIENT,
    "vanishing": verdict.VANISHING,
    "adam_vanishing": verdict.ADAM_VANISHING,
    "collapsed": verdict.COLLAPSED,
    "one_direction": verdict.ONE_DIRECTION,
    "inert": verdict.INERT_RATIO,
    "large_update": verdict.LARGE_UPDATE,
    "dead": verdict.DEAD_SHARE,
    "max_tokens": MAX_TOKENS,
    "with_final_norm": ", ".join(name for name, placement in PLACEMENTS.items() if placement.final_norm),
}
EVERYWHERE = ("playground", "compare")  # pages with all controls
PLACE_OF_GROUP = {"training": ", under Training", "expert": ", under Expert"}  # of a control
ARRANGEMENT = "arrangement"  # the term of the arrangement picker, which is no field


@dataclass(frozen=True)
class Term:
    """One meaning of a term. `formula`: LaTeX. `source`: "author year, arXiv number". `pages`: where it appears.

    `category`: what it is, for a control, an option or an arrangement.
    """

    text: str
    formula: str = ""
    source: str = ""
    pages: tuple[str, ...] = ("playground",)
    related: tuple[str, ...] = ()
    category: str = ""


@dataclass(frozen=True)
class GlossaryEntry:
    """A term as the app spells it, and its meanings."""

    word: str
    senses: tuple[Term, ...]


def key_of(word: str) -> str:
    """Key of a term: lower case, single spaces."""
    return " ".join(word.casefold().split())


def _with_synonym(text: str) -> str:
    """The text, or the app's term if the text is a synonym."""
    synonyms = SYNONYMS["synonyms"]
    return synonyms.get(key_of(text).replace("-", " "), synonyms.get(key_of(text), text))


def nearest_term(word: str) -> str:
    """Key of the term that the word names or is spelled most like; "" without one."""
    if key_of(_with_synonym(word)) in ENTRIES:
        return key_of(_with_synonym(word))
    return next(iter(get_close_matches(key_of(word), ENTRIES, 1)), "")


def _terms(text: Document) -> dict[str, Term]:
    """Terms of the file; raises ContentError."""
    terms = {}
    for word, fields in text.front.items():
        entry = Document(text.path, dict(fields))
        sentence = unwrapped(entry.take("text", str))
        entry.check([sentence], NUMBERS)
        formula, source = entry.take("formula", str, ""), entry.take("source", str, "")
        pages, related = entry.take("met", list, ["playground"]), entry.take("see", list, [])
        entry.require_all_taken()
        for page in set(pages) - PAGES:
            raise text.fault(f"there is no page “{page}”", page)
        terms[word] = Term(fill(sentence, NUMBERS), formula, source, tuple(pages), tuple(related))
    return terms


def _senses(terms: Mapping[str, Term]) -> Iterator[tuple[str, Term]]:
    """Every word with one of its meanings: controls, terms of the file, options, arrangements."""
    for _, knob in knobs().values():
        yield knob.label, _control(knob)
    yield from terms.items()
    for _, knob in knobs().values():
        for word, entry in {**(knob.choices or {}), **(knob.rules or {})}.items():
            yield word, _choice(knob, entry)
    for word, arrangement in ARRANGEMENTS.items():
        related = (ARRANGEMENT,)
        yield word, Term(arrangement.description, "", arrangement.source, EVERYWHERE, related, category="Arrangement")


def _control(knob: Knob) -> Term:
    """Definition of a field: its help and range."""
    names = (*(knob.choices or ()), *(knob.rules or ()))
    numbers = f" From {number(knob.low, 10)} to {number(knob.high, 10)}." if knob.high and not knob.choices else ""
    nets = f" Only in the {knob.nets[0]}." if len(knob.nets) == 1 else ""
    category = f"a control{PLACE_OF_GROUP.get(knob.group, '')}"
    return Term(f"{knob.help}{numbers}{nets}", pages=EVERYWHERE, related=names, category=category)


def _choice(knob: Knob, entry: object) -> Term:
    """Definition of an option, from its vocabulary."""
    description = str(getattr(entry, "description"))  # noqa: B009 (entries, placements and tasks alike have one)
    formula, source = (str(getattr(entry, name, "")) for name in ("formula", "source"))
    text = description[:1].upper() + description[1:] + ("" if description.endswith((".", "?")) else ".")
    return Term(text, formula, source, pages=EVERYWHERE, related=(knob.label,), category=knob.label)


def _entries(texts: list[Document]) -> dict[str, GlossaryEntry]:
    """All entries in alphabetical order, by key; raises ContentError for a related term that does not exist."""
    entries: dict[str, GlossaryEntry] = {}
    (text,) = texts
    taught = text.take("taught", dict)
    terms = _terms(text)
    for word, sense in _senses(terms):
        entry = entries.get(key_of(word), GlossaryEntry(word, ()))
        entries[key_of(word)] = GlossaryEntry(entry.word, (*entry.senses, sense))
    for term in terms.values():
        for name in term.related:
            if key_of(name) not in entries:
                raise text.fault(f"there is no term “{name}”", f'"{name}"')
    for page, words in taught.items():
        for word in words:
            if page not in PAGES or key_of(word) not in entries:
                raise text.fault(f"there is no page “{page}”, or no term “{word}”", f'"{word}"')
            entry = entries[key_of(word)]
            first, *others = entry.senses
            entries[key_of(word)] = replace(entry, senses=(replace(first, pages=(*first.pages, page)), *others))
    keys = sorted(entries, key=lambda key: (not key[0].isalpha(), key))
    return {key: entries[key] for key in keys}


SYNONYMS = Content("synonyms.toml", text_tables)
ENTRIES: Content[GlossaryEntry] = Content("glossary.toml", _entries, "help.toml", "vocabulary.toml")
