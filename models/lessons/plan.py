"""The plan of a lesson: its stops in order, each with minutes and a note for the teacher, as text.

A line is a stop: a link or a name, and the minutes if there is a comma and "5 min" behind it. Lines that begin with
"?" and "-", "*" or "=" are a question, its options, the right one, or a number; ">" begins a note on the stop above,
"#" a title. A list of stops with commas between them is a plan too.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from models import content
from models.lessons.questions import ASK, NUMBER, OPTION, RIGHT, plain
from models.lessons.stops import START, read_stop
from models.spec.bounds import MAX_MINUTES, MAX_NOTE_CHARS, MAX_PLAN_CHARS, MAX_STOPS

TITLE, NOTE = "#", ">"
MINUTES = re.compile(r"(.*?)(?:,\s*(\d{1,6})\s*min(?:\.|utes?)?)?", re.IGNORECASE | re.DOTALL)
DEFAULT_PLAN = (START, "vanishing", "exploding", "skip", "placement", "init")  # Start and five lessons


@dataclass(frozen=True)
class PlannedStop:
    """A stop of a plan. `minutes`: 0 where the plan says none."""

    stop: str
    minutes: int = 0
    note: str = ""

    @property
    def text(self) -> str:
        """The entry as lines of a plan."""
        first, *rest = self.stop.split("\n")
        minutes = f", {self.minutes} min" if self.minutes else ""
        return "\n".join([first + minutes, *rest, *([f"{NOTE} {self.note}"] if self.note else [])])


@dataclass(frozen=True)
class Plan:
    """A plan, and one sentence for each of its lines that was changed or left out."""

    entries: tuple[PlannedStop, ...] = ()
    title: str = ""
    faults: tuple[str, ...] = ()

    @property
    def stops(self) -> tuple[str, ...]:
        return tuple(entry.stop for entry in self.entries)

    @property
    def minutes(self) -> int:
        return sum(entry.minutes for entry in self.entries)

    def entry(self, stop: str) -> PlannedStop:
        """The entry of a stop, with no minutes and no note if the plan lacks it."""
        return next((entry for entry in self.entries if entry.stop == stop), PlannedStop(stop))

    @property
    def text(self) -> str:
        """The plan as text, to be written on by hand."""
        return "\n\n".join(
            [*([f"{TITLE} {self.title}"] if self.title else []), *(entry.text for entry in self.entries)]
        )

    @property
    def link(self) -> str:
        """The plan in an address: a list with commas if it has nothing but pages."""
        if not self.title and all(
            entry == PlannedStop(entry.stop) and "\n" not in entry.stop for entry in self.entries
        ):
            return ",".join(self.stops)
        return self.text


@dataclass
class _Draft:
    """An entry while its lines are read."""

    number: int
    line: int
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def plan_from(text: str) -> Plan:
    """The plan in a text of any kind; each entry that names nothing is left out, and a fault says which."""
    faults = []
    if len(text) > MAX_PLAN_CHARS:
        faults.append(f"The plan is longer than {MAX_PLAN_CHARS:,} characters; the rest is left out.")
    text = text[:MAX_PLAN_CHARS].removeprefix("\ufeff").strip()
    lines = text.splitlines() if len(text.splitlines()) > 1 else re.split(r",(?!\s*\d+\s*min)", text)
    title, drafts = "", list[_Draft]()
    for number, line in enumerate(map(plain, lines), start=1):
        kind = line[:1]
        if kind == TITLE:
            title = line.lstrip(f"{TITLE} ")[:100]
        elif kind in (NOTE, OPTION, RIGHT, NUMBER):
            if not drafts:
                faults.append(f"Line {number}: “{line[:40]}” comes before the first stop; it is left out.")
            elif kind == NOTE:
                drafts[-1].notes.append(line[1:].strip())
            else:
                drafts[-1].lines.append(line)
        elif kind:
            drafts.append(_Draft(len(drafts) + 1, number, [line]))
    entries: list[PlannedStop] = []
    for draft in drafts:
        where = f"Stop {draft.number}" + (f", line {draft.line}" if len(lines) > 1 and "\n" in text else "")
        try:
            if len(entries) == MAX_STOPS:
                raise ValueError(f"a plan has at most {MAX_STOPS} stops")
            entry, remarks = _entry(draft, entries)
            entries.append(entry)
            faults += [f"{where}: {remark}." for remark in remarks]
        except ValueError as error:
            faults.append(f"{where}: {error}; it is left out.")
    return Plan(tuple(entries), title, tuple(faults))


def _entry(draft: _Draft, before: list[PlannedStop]) -> tuple[PlannedStop, list[str]]:
    """The entry of a draft, and remarks on what was changed; ValueError if it names nothing."""
    match = MINUTES.fullmatch(draft.lines[0])
    assert match is not None
    first, minutes = match[1].strip(), int(match[2] or 0)
    if len(draft.lines) > 1 and not first.startswith(ASK):
        raise ValueError(f"“{draft.lines[1][:40]}” is an option without a question above it, which begins with {ASK}")
    stop, change = read_stop("\n".join([first, *draft.lines[1:]]))
    remarks = [change] if change else []
    if stop in [entry.stop for entry in before]:
        raise ValueError("it is in the plan already")
    if minutes > MAX_MINUTES:
        remarks.append(f"it takes at most {MAX_MINUTES} minutes")
    note = " ".join(draft.notes)
    if len(note) > MAX_NOTE_CHARS:
        remarks.append(f"its note is cut after {MAX_NOTE_CHARS} characters")
    return PlannedStop(stop, min(minutes, MAX_MINUTES), note[:MAX_NOTE_CHARS]), remarks


def prepared_plans() -> dict[str, str]:
    """The texts of the plans that come with the app, by title."""
    files = [path.read_text(encoding="utf-8") for path in sorted(Path(content.FOLDER, "plans").glob("*.txt"))]
    return {plan_from(text).title: text for text in files}
