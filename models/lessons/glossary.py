"""The glossary: every control, option, arrangement and other term of the app, by spelling, numbers last.

Fields, options and arrangements define themselves; all other terms are in `words` and `words_measured`. A term with
several meanings (the control Residual, the stack ResiDual) has one entry with several senses.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from models.lessons.words import EVERYWHERE, NET, Term
from models.lessons.words_measured import MEASURED
from models.spec import ARRANGEMENTS, knobs
from models.spec.knob import Knob

UNDER = {"training": ", under Training", "expert": ", under Expert"}
ARRANGEMENT = "arrangement"  # the picker's term; not a field


@dataclass(frozen=True)
class GlossaryEntry:
    """A term as the app spells it, and its meanings."""

    word: str
    senses: tuple[Term, ...]

    def says(self) -> str:
        """The text that a search looks through."""
        return " ".join((self.word, *(f"{one.of} {one.text} {one.source}" for one in self.senses))).casefold()


def key_of(word: str) -> str:
    """A term's key: lower case, single spaces."""
    return " ".join(word.casefold().split())


def near(word: str) -> str:
    """The term spelled most like this one, or ""."""
    return next(iter(get_close_matches(key_of(word), ENTRIES, 1)), "")


def search(text: str) -> list[str]:
    """The keys of all entries that contain every word of a text; matches in the term itself come first."""
    parts = text.casefold().split()
    found = [key for key, entry in ENTRIES.items() if all(part in entry.says() for part in parts)]
    return sorted(found, key=lambda key: not all(part in key for part in parts))


def _senses() -> Iterator[tuple[str, Term]]:
    for _, knob in knobs().values():
        yield knob.label, _control(knob)
    yield from (NET | MEASURED).items()
    for _, knob in knobs().values():
        for word, entry in {**(knob.choices or {}), **(knob.rules or {})}.items():
            yield word, _choice(knob, entry)
    for word, arrangement in ARRANGEMENTS.items():
        yield (
            word,
            Term(arrangement.reading, source=arrangement.source, met=EVERYWHERE, see=(ARRANGEMENT,), of="Arrangement"),
        )


def _control(knob: Knob) -> Term:
    """A field of a configuration: its help and its range."""
    names = (*(knob.choices or ()), *(knob.rules or ()))
    numbers = f" From {knob.low:,.10g} to {knob.high:,.10g}." if knob.high and not knob.choices else ""
    nets = f" Only in the {knob.nets[0]}." if len(knob.nets) == 1 else ""
    of = f"a control{UNDER.get(knob.group, '')}"
    return Term(f"{knob.help}{numbers}{nets}", met=EVERYWHERE, see=names, of=of)


def _choice(knob: Knob, entry: object) -> Term:
    """An option, as its own vocabulary defines it."""
    reading = str(getattr(entry, "reading"))  # noqa: B009 (entries, placements and tasks alike have one)
    formula, source = (str(getattr(entry, name, "")) for name in ("formula", "source"))
    text = reading[:1].upper() + reading[1:] + ("" if reading.endswith((".", "?")) else ".")
    return Term(text, formula, source, met=EVERYWHERE, see=(knob.label,), of=knob.label)


def _entries() -> Mapping[str, GlossaryEntry]:
    found: dict[str, GlossaryEntry] = {}
    for word, sense in _senses():
        before = found.get(key_of(word))
        found[key_of(word)] = (
            GlossaryEntry(before.word, (*before.senses, sense)) if before else GlossaryEntry(word, (sense,))
        )
    return dict(sorted(found.items(), key=lambda one: (not one[0][0].isalpha(), one[0])))


ENTRIES = _entries()
