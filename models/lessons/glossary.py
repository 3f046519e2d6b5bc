"""The glossary: every control, choice, arrangement and other word of the app, by its spelling.

Fields, vocabularies and arrangements define themselves; all other words are in `words` and `words_measured`. A word
with several meanings (the control Residual, the stack ResiDual) has one entry with a sense for each.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from models.lessons.words import NET
from models.lessons.words_measured import MEASURED
from models.spec import ARRANGEMENTS, knobs
from models.spec.knob import Knob

CONTROLS = ("playground", "compare")  # the pages with the controls of a configuration
UNDER = {"training": ", under Training", "expert": ", under Expert"}
ARRANGEMENT = "arrangement"  # the word for the picker, which is not a field


@dataclass(frozen=True)
class Sense:
    """One meaning: what the word belongs to, its text, LaTeX, source, the pages where it occurs, and related words."""

    of: str
    text: str
    formula: str = ""
    source: str = ""
    met: tuple[str, ...] = CONTROLS
    see: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A word as the app writes it, and its meanings."""

    word: str
    senses: tuple[Sense, ...]

    def says(self) -> str:
        """All text that a search looks through."""
        return " ".join((self.word, *(f"{sense.of} {sense.text} {sense.source}" for sense in self.senses))).casefold()


def key_of(word: str) -> str:
    """The key of a word: lower case, without extra spaces."""
    return " ".join(word.casefold().split())


def find(word: str) -> Entry | None:
    """The entry of a word in any case, or None."""
    return ENTRIES.get(key_of(word))


def near(word: str) -> str:
    """The key spelled most like this word, or an empty text."""
    return next(iter(get_close_matches(key_of(word), ENTRIES, 1)), "")


def search(text: str) -> list[str]:
    """The keys of all entries that contain every word of a text, first those that do so in their key."""
    parts = text.casefold().split()
    keys = [key for key, entry in ENTRIES.items() if all(part in entry.says() for part in parts)]
    return sorted(keys, key=lambda key: (not all(part in key for part in parts), key))


def _senses() -> Iterator[tuple[str, Sense]]:
    for _, knob in knobs().values():
        yield knob.label, _control(knob)
    for word, term in (NET | MEASURED).items():
        yield word, Sense("", term.text, term.formula, term.source, term.met, term.see)
    for _, knob in knobs().values():
        for word, entry in {**(knob.choices or {}), **(knob.rules or {})}.items():
            yield word, _choice(knob, entry)
    for word, arrangement in ARRANGEMENTS.items():
        yield word, Sense("Arrangement", arrangement.reading, source=arrangement.source, see=(ARRANGEMENT,))


def _control(knob: Knob) -> Sense:
    """The sense of a field: its help, and its legal numbers."""
    names = (*(knob.choices or ()), *(knob.rules or ()))
    numbers = f" From {knob.low:,.10g} to {knob.high:,.10g}." if knob.high and not knob.choices else ""
    nets = f" Only in the {knob.nets[0]}." if len(knob.nets) == 1 else ""
    return Sense(f"a control{UNDER.get(knob.group, '')}", f"{knob.help}{numbers}{nets}", see=names)


def _choice(knob: Knob, entry: object) -> Sense:
    """The sense of a choice, from its vocabulary."""
    reading = str(getattr(entry, "reading"))  # noqa: B009 (entries, placements and tasks all have one)
    formula, source = (str(getattr(entry, name, "")) for name in ("formula", "source"))
    text = reading[:1].upper() + reading[1:] + ("" if reading.endswith((".", "?")) else ".")
    return Sense(knob.label, text, formula, source, see=(knob.label,))


def _entries() -> Mapping[str, Entry]:
    entries: dict[str, Entry] = {}
    for word, sense in _senses():
        before = entries.get(key_of(word))
        entries[key_of(word)] = Entry(before.word, (*before.senses, sense)) if before else Entry(word, (sense,))
    return dict(sorted(entries.items()))


ENTRIES = _entries()
