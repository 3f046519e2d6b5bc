"""Reads recordings from any writer: strictly, within bounds, and up to the first fault.

Needs no torch. `addnorm/player/lines.js` reads the same in a browser. To follow a growing file, feed a
`Reader` what has come in since.
"""

from __future__ import annotations

import json
import math
import os
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from addnorm.format import (
    FACTS,
    FROM_VERSION_1,
    IN_VERSION_1,
    NON_FINITE,
    SCALARS,
    SERIES,
    SITE_SERIES,
    SOMETIMES,
    VERSION,
    encoded,
)
from addnorm.rules import Change as FindingChange
from addnorm.rules import Diagnostic, changes_of, worst_first
from addnorm.said import KINDS as KINDS_SAID
from addnorm.said import Teller, changed
from addnorm.shown import Shown
from addnorm.words import LOSS, STEP
from addnorm.words import number as in_words

MAX_LINE_BYTES = 8 << 20  # bytes
MAX_SITES = 20_000
MAX_BINS = 256  # of a histogram
MAX_FACTS = 1_000_000  # counts of all facts of a recording; more are left out
MAX_NUMBERS = 50_000_000  # of a whole recording, 8 bytes each, as eight bytes of what is said
MAX_CUTS = 100  # places at which a graph is cut
MAX_NAME_CHARS = 1000  # characters
MAX_SENTENCE_CHARS = 5000
LARGEST_FILE = 4 << 30  # bytes
DEEPEST = 8  # levels of nesting
LARGEST_COUNT = 2**53 - 1  # the largest whole number that every reader of JSON holds exactly
UNREADABLE = "is not JSON, or is nested too deeply"
PIECE = 1 << 20  # bytes read at once

Change = tuple[int, str]  # the step from which a sentence holds, and the sentence
KINDS = ("start", "sum", "output")
ENDS = ("done", "error", "recorder")
OF_HEADER = ("sites", "blocks", "heads", "weights", "bins", "matrices", "frozen", "calls", "cuts")


class FaultError(ValueError):
    """What is wrong with a line, as a predicate: "is not text"."""


class Tracks(dict[str, Any]):
    """What is kept of every scalar and series by name, also by the name that it has in version 1 of the format."""

    def __missing__(self, name: str) -> Any:
        return self[FROM_VERSION_1[name]]


@dataclass(frozen=True)
class SiteInfo:
    """A site as the header describes it."""

    name: str
    kind: str
    module: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class BlockInfo:
    """A block of weights: its name, the index of the first site that depends on it, and how many weights it has."""

    name: str
    site: int
    parameters: int


@dataclass(repr=False)
class Recording(Shown):
    """What has been read so far: of every scalar and series one flat array, row after row.

    Numbers that were not measured are NaN; `known` has a 1 for each that was, if only as NaN. `problem` is the sentence
    that says where reading stopped; empty if it did not.
    """

    header: dict[str, Any] = field(default_factory=dict)
    sites: tuple[SiteInfo, ...] = ()
    blocks: tuple[BlockInfo, ...] = ()
    heads: tuple[str, ...] = ()  # names, where `detail` was asked for
    weights: tuple[str, ...] = ()
    bins: int = 0  # of a histogram, where `detail` asked for those
    matrices: tuple[str, ...] = ()  # names of the blocks' weights, in order
    frozen: tuple[str, ...] = ()  # names of matrices that were not trained when the recording began
    calls: tuple[int, ...] = ()  # by site, how often its module was called in the first pass
    cuts: tuple[tuple[str, tuple[int, ...]], ...] = ()  # what cuts the graph, and the matrices before it
    steps: array[int] = field(default_factory=lambda: array("q"))
    seconds: array[float] = field(default_factory=lambda: array("d"))
    scalars: dict[str, array[float]] = field(default_factory=lambda: {name: array("d") for name in SCALARS})
    series: dict[str, array[float]] = field(default_factory=lambda: Tracks({name: array("d") for name in SERIES}))
    known: dict[str, bytearray] = field(
        default_factory=lambda: Tracks({name: bytearray() for name in SCALARS + SERIES})
    )
    histograms: dict[int, array[float]] = field(default_factory=dict)  # by row: site after site, a share for each bin
    skipped: set[int] = field(default_factory=set)  # rows whose update AMP left out
    summed: dict[int, int] = field(default_factory=dict)  # rows whose loss is the sum of so many shares told
    said: dict[str, list[Change]] = field(default_factory=dict)  # by kind
    found: dict[str, list[FindingChange]] = field(default_factory=dict)  # by id
    facts: dict[str, dict[int, list[int]]] = field(default_factory=dict)  # by name and row
    end: dict[str, Any] | None = None
    problem: str = ""
    _teller: Teller | None = None  # where the file holds no sentences, or no findings
    _facts: int = 0  # how many counts the facts have
    _silent: bool = False  # where it holds no sentences

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        rows = f"{len(self)} {'row' if len(self) == 1 else 'rows'}"
        return f"<Recording of {self.header.get('model', 'nothing')}, {rows}, {len(self.sites)} sites>"

    def so_far(self) -> Recording:
        """Itself."""
        return self

    @property
    def whole(self) -> bool:
        """Whether the last line has been read."""
        return self.end is not None

    def row(self, name: str, at: int) -> Sequence[float]:
        """The numbers of a series in one row."""
        width = self.width(name)
        return self.series[name][at * width : (at + 1) * width]

    def measured(self, name: str, at: int) -> Sequence[int]:
        """For each number of a series or scalar in one row, 1 where it was measured."""
        width = self.width(name)
        return self.known[name][at * width : (at + 1) * width]

    def at(self, name: str, row: int) -> list[float | None]:
        """The numbers of a series or scalar in one row; None where nothing was measured."""
        values = [self.scalars[name][row]] if name in SCALARS else self.row(name, row)
        return [value if known else None for value, known in zip(values, self.measured(name, row), strict=True)]

    def width(self, name: str) -> int:
        """How many numbers of a series or scalar a row has."""
        if name in SCALARS:
            return 1
        details = {"head": self.heads, "parameter_grad": self.weights}
        return len(details.get(name, self.sites if FROM_VERSION_1.get(name, name) in SITE_SERIES else self.blocks))

    def histogram(self, at: int) -> list[list[float]]:
        """By site, the share of its values in each bin over -4 to 4 RMS; empty where the row has none."""
        shares = self.histograms.get(at, array("d")).tolist()
        return [shares[start : start + self.bins] for start in range(0, len(shares), max(1, self.bins))]

    def fact(self, name: str, at: int) -> list[int]:
        """A list of counts that a row holds; empty where it holds none."""
        return self.facts.get(name, {}).get(at, [])

    def sentence(self, kind: str, at: int) -> str:
        """What is said of a row, of one of the kinds that `addnorm.said` lists; empty where nothing is.

        It is formed here where the file holds no sentences, as one of version 1.
        """
        said = self._template(kind, at).replace(STEP, str(self.steps[at]), 1)
        return said.replace(LOSS, in_words(self.scalars["loss"][at]), 1) if LOSS in said else said

    def findings_at(self, at: int) -> list[Diagnostic]:
        """What has been found up to a row, the errors first. Formed here where the file holds no findings."""
        if "ignored" not in self.header or self._silent or not self.said:
            self._form()
        step = self.steps[at]
        latest = (_latest(changes, step) for changes in self.found.values())
        return worst_first(found for found in latest if found is not None)

    def _template(self, kind: str, at: int) -> str:
        if self._silent or not self.said:
            self._form()
        return _latest(self.said.get(kind, []), self.steps[at]) or ""

    def _form(self) -> None:
        """Forms what the file does not hold: findings, and sentences where it has none."""
        if self._teller is None:
            self._teller, self._silent = Teller(), not self.said
        for row in range(self._teller.heard, len(self)):
            said, found = self._teller.hear(self, row)
            self.find(found)
            if self._silent:
                self.say(said)

    def say(self, changes: Mapping[str, Sequence[Change]]) -> None:
        """Takes sentences by kind, in place of those that hold from the step of the first or later."""
        for kind, news in changes.items():
            _replace(self.said.setdefault(kind, []), news)

    def find(self, changes: Mapping[str, Sequence[FindingChange]]) -> None:
        """Takes findings by id in the same way."""
        for rule, news in changes.items():
            _replace(self.found.setdefault(rule, []), news)

    def take(self, entry: Mapping[str, Any]) -> None:
        """Appends a row as a line holds it. Raises FaultError."""
        old = IN_VERSION_1 if self.header["addnorm"] == 1 else {}
        step = count(entry, "step")
        if self.steps and step <= self.steps[-1]:
            raise FaultError(f"is of step {step}, after step {self.steps[-1]}")
        scalars = {name: number(entry.get(name), name) for name in SCALARS}
        seconds = number(entry.get("seconds"), "seconds")
        rows = {}
        for name in SERIES:
            key = old.get(name, name)
            rows[name] = numbers(entry.get(key), key, self.width(name), may_lack=name in SOMETIMES)
        shares = None
        if entry.get("histogram") is not None:
            shares = numbers(entry["histogram"], "histogram", len(self.sites) * self.bins)
        skipped = entry.get("skipped", False)
        if not isinstance(skipped, bool):
            raise FaultError("has a skipped that is neither true nor false")
        summed = count(entry, "loss_sum_of") if "loss_sum_of" in entry else 0
        self.steps.append(step)
        self.seconds.append(math.nan if seconds is None else seconds)
        for name, values in (*rows.items(), *((name, [value]) for name, value in scalars.items())):
            into = self.scalars[name] if name in SCALARS else self.series[name]
            into.extend(math.nan if value is None else value for value in values)
            self.known[name].extend(value is not None for value in values)
        if shares is not None:
            self.histograms[len(self) - 1] = array("d", (math.nan if one is None else one for one in shares))
        if skipped:
            self.skipped.add(len(self) - 1)
        if summed:
            self.summed[len(self) - 1] = summed
        for name in FACTS:
            if (counts := counts_of(entry.get(name))) and self._facts + len(counts) <= MAX_FACTS:
                self._facts += len(counts)
                self.facts.setdefault(name, {})[len(self) - 1] = counts

    def alone(self, line: Mapping[str, Any]) -> Recording:
        """A recording of one row below the header of this one, from the row as it is written."""
        found = Recording(self.header, **{name: getattr(self, name) for name in OF_HEADER})
        found.take(line)
        return found

    def lines(self, every: int = 1) -> Iterator[bytes]:
        """The lines of a file of it, with its sentences.

        `every`: of the rows, those that have updates, the last, and one of so many others.
        """
        header = self.header | {"addnorm": VERSION}
        try:
            yield as_line(header)
        except ValueError:  # a setting too large for a number
            yield as_line(header | {"meta": {}, "optimizer": None})
        last = dict.fromkeys(KINDS_SAID, "")
        found: dict[str, Diagnostic] = {}
        scalars = [name for name in SCALARS if any(self.known[name])]
        for at, step in enumerate(self.steps):
            if at % every and at != len(self) - 1 and not any(self.measured("update_to_weight", at)):
                continue
            row: dict[str, Any] = {"step": step, "seconds": encoded(self.seconds[at])}
            row |= {name: encoded(self.at(name, at)[0], 9) for name in scalars}
            series = [name for name in SERIES if name not in SOMETIMES or any(self.measured(name, at))]
            row |= {name: list(map(encoded, self.at(name, at))) for name in series}
            if at in self.histograms and (at % every == 0 or at == len(self) - 1):
                row["histogram"] = [None if math.isnan(one) else encoded(one) for one in self.histograms[at]]
            row |= {"skipped": True} if at in self.skipped else {}
            row |= {"loss_sum_of": self.summed[at]} if at in self.summed else {}
            yield as_line(row | {name: self.fact(name, at) for name in FACTS if self.fact(name, at)})
            said = {kind: self._template(kind, at) for kind in KINDS_SAID}
            listed = self.findings_at(at) if "ignored" in header else []
            before, found = found, {finding.id: finding for finding in listed}
            news: dict[str, list[FindingChange]] = {
                rule: [(step, found.get(rule))]
                for rule in sorted({**before, **found})
                if before.get(rule) != found.get(rule)
            }
            if line := told_line(changed(last, said, step), news):
                yield as_line(line)
        if self.end is not None:
            yield as_line(self.end)


class Reader:
    """Reads a recording piece by piece, up to the first fault."""

    def __init__(self) -> None:
        self.recording = Recording()
        self._line = 0
        self._rest = b""
        self._numbers = 0

    def feed(self, data: bytes) -> Recording:
        """Reads the lines that these bytes complete, and returns all that has been read."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            if self.recording.problem:
                break
            self._take(line)
        if len(self._rest) > MAX_LINE_BYTES and not self.recording.problem:
            self._line += 1
            self._stop("is longer than a line of a recording can be")
        if self.recording.problem:
            self._rest = b""
        return self.recording

    def finish(self) -> Recording:
        """Reports what is missing from a file that will not grow any more."""
        found = self.recording
        if not found.problem and self._rest:
            self._line += 1
            self._stop("is cut off; what came before it is shown" if found.header else "is not a recording")
        elif not found.problem and not found.header:
            found.problem = "The file is empty."
        return found

    def _take(self, line: bytes) -> None:
        self._line += 1
        try:
            if len(line) > MAX_LINE_BYTES:
                raise FaultError("is longer than a line of a recording can be")
            entry = parsed(line)
            if self.recording.whole:
                raise FaultError("stands after the end of the recording")
            if not self.recording.header:
                self._take_header(entry)
            elif "end" in entry:
                self.recording.end = ending(entry)
            elif "said" in entry:
                self._count(len(line) // 8)
                steps = self.recording.steps
                self.recording.say(sentences(entry["said"], steps))
                self.recording.find(changes_of(entry.get("findings"), steps[-1] if steps else -1))
            else:
                found = self.recording
                shares = 0 if entry.get("histogram") is None else len(found.sites) * found.bins
                self._count(sum(map(found.width, SERIES + SCALARS)) + 2 + shares)
                self.recording.take(entry)
        except FaultError as fault:
            self._stop(str(fault))

    def _stop(self, fault: str) -> None:
        self.recording.problem = f"Line {self._line} {fault}."

    def _take_header(self, entry: dict[str, Any]) -> None:
        version = as_count(entry.get("addnorm"))
        if not version:
            raise FaultError("is not the header of a recording")
        if version > VERSION:
            raise FaultError(
                f"says that this is version {version} of the format; this program reads up to version {VERSION}"
            )
        sites = tuple(site_of(item) for item in listed(entry, "sites"))
        blocks = tuple(block_of(item) for item in listed(entry, "blocks"))
        heads, weights = (
            tuple(text({key: name}, key) for name in listed({key: entry.get(key, [])}, key))
            for key in ("heads", "weights")
        )
        for key in ("model", "dtype", "device", "created"):
            text(entry, key)
        for note in listed(entry, "notes"):
            text({"note": note}, "note")
        for key in ("parameters", "trained"):
            count(entry, key)
        bins = count(entry, "bins") if "bins" in entry else 0
        if bins > MAX_BINS:
            raise FaultError(f"has more than {MAX_BINS} bins")
        for key in ("versions", "meta"):
            if not isinstance(entry.get(key, {}), dict):
                raise FaultError(f"has a {key} that is not an object")
        if not isinstance(entry.get("optimizer"), dict | None):
            raise FaultError("has an optimizer that is not an object")
        found = self.recording
        found.header, found.sites, found.blocks = entry, sites, blocks
        found.heads, found.weights, found.bins = heads, weights, bins
        found.matrices, found.frozen = names_of(entry.get("matrices")), names_of(entry.get("frozen"))
        found.calls = tuple(counts_of(entry.get("calls")))
        found.cuts = cuts_of(entry.get("cuts"))

    def _count(self, numbers: int) -> None:
        self._numbers += numbers
        if self._numbers > MAX_NUMBERS:
            raise FaultError("is over the limit; the lines before it are shown")


def read(path: str | os.PathLike[str], *, growing: bool = False) -> Recording:
    """The recording in a file, up to the first fault, which `problem` names. Raises nothing.

    `growing`: an unfinished last line is no fault.
    """
    reader = Reader()
    try:
        if not Path(path).is_file():
            raise OSError(f"{path} is not a file" if Path(path).exists() else f"there is no file {path}")
        with Path(path).open("rb") as file:
            left = LARGEST_FILE
            while not reader.recording.problem and (piece := file.read(min(PIECE, left))):
                reader.feed(piece)
                left -= len(piece)
            if not left and not reader.recording.problem:
                reader.recording.problem = "The file is larger than a recording can be; what stands before is shown."
    except (OSError, ValueError) as error:
        reader.recording.problem = f"{_capital(getattr(error, 'strerror', None) or str(error))}."
    return reader.recording if growing else reader.finish()


def headed(header: Mapping[str, Any]) -> Recording:
    """A recording without rows, from its header."""
    return Reader().feed(as_line(header))


def parsed(line: bytes) -> dict[str, Any]:
    """A line as a mapping. Raises FaultError."""
    try:
        entry = json.loads(line.decode("utf-8"), parse_constant=_no_constant, parse_int=_int)
    except UnicodeDecodeError:
        raise FaultError("is not text") from None
    except (ValueError, RecursionError):
        raise FaultError(UNREADABLE) from None
    if not isinstance(entry, dict):
        raise FaultError("is not an object")
    if too_deep(entry):
        raise FaultError(UNREADABLE)
    return entry


def too_deep(value: Any) -> bool:
    """Whether JSON is nested deeper than a recording may be."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        level = [item for held in level for item in _inside(held) if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _inside(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _no_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and Infinity, which JSON does not know


def _int(digits: str) -> float:
    """A whole number; infinite where it has more digits than any float, for JSON sets no limit."""
    return int(digits) if len(digits) < 400 else float(digits)


def number(value: Any, name: str) -> float | None:
    """A number of a row: a finite number, the name of another, or null where it was not measured. Raises FaultError."""
    if isinstance(value, str) and value in NON_FINITE:
        return NON_FINITE[value]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FaultError(f"has a value of {name} that is not a number")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise FaultError(f"has a value of {name} that is too large")
    return found


def numbers(value: Any, name: str, width: int, *, may_lack: bool = False) -> list[float | None]:
    """A series of a row. Raises FaultError."""
    if value is None and may_lack:
        return [None] * width
    if not isinstance(value, list):
        raise FaultError(f"has {name} that is not a list")
    if len(value) != width:
        raise FaultError(f"has {len(value)} numbers of {name} where there should be {width}")
    return [number(item, name) for item in value]


def count(entry: Mapping[str, Any], key: str) -> int:
    """A whole number from 0 to LARGEST_COUNT. Raises FaultError."""
    value = as_count(entry.get(key))
    if value is None:
        raise FaultError(f"has a {key} that is not a count")
    return value


def as_count(value: Any) -> int | None:
    """A count, however JSON writes it (1, 1.0, 1e0); None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= LARGEST_COUNT and value == int(value) else None


def text(entry: dict[str, Any], key: str, longest: int = MAX_NAME_CHARS) -> str:
    """A text of bounded length. Raises FaultError."""
    value = entry.get(key)
    if not isinstance(value, str):
        raise FaultError(f"has a {key} that is not text")
    if len(value) > longest:
        raise FaultError(f"has a {key} that is too long")
    return value


def listed(entry: dict[str, Any], key: str) -> list[Any]:
    """A list of bounded length. Raises FaultError."""
    value = entry.get(key)
    if not isinstance(value, list):
        raise FaultError(f"has {key} that are not a list")
    if len(value) > MAX_SITES:
        raise FaultError(f"has more than {MAX_SITES} {key}")
    return value


def sentences(value: Any, steps: Sequence[int]) -> dict[str, list[Change]]:
    """What is said, by kind, of rows up to the last of `steps`. Raises FaultError."""
    if not isinstance(value, dict):
        raise FaultError("has a said that is not an object")
    found: dict[str, list[Change]] = {}
    for kind, changes in value.items():
        news: list[Change] = []
        found[text({"kind": kind}, "kind")] = news
        for change in listed({"sentences": changes}, "sentences"):
            if not isinstance(change, list) or len(change) != 2:
                raise FaultError("has a sentence without a step")
            step = count({"step": change[0]}, "step")
            if not steps or step > steps[-1]:
                raise FaultError(f"has a sentence about step {step}, which has not come")
            if news and step <= news[-1][0]:
                raise FaultError("has sentences out of order")
            news.append((step, text({"sentence": change[1]}, "sentence", MAX_SENTENCE_CHARS)))
        if not news:
            raise FaultError("has a kind of sentence without one")
    return found


def site_of(item: Any) -> SiteInfo:
    """A site of the header. Raises FaultError."""
    if not isinstance(item, dict):
        raise FaultError("has a site that is not an object")
    shape = item.get("shape")
    if not isinstance(shape, list) or len(shape) > 16:
        raise FaultError("has a site without a shape")
    kind = text(item, "kind")
    if kind not in KINDS:
        raise FaultError("has a site of an unknown kind")
    sizes = tuple(count({"shape": size}, "shape") for size in shape)
    return SiteInfo(text(item, "name"), kind, text(item, "module"), sizes, text(item, "dtype"))


def block_of(item: Any) -> BlockInfo:
    """A block of the header. Raises FaultError."""
    if not isinstance(item, dict):
        raise FaultError("has a block that is not an object")
    return BlockInfo(text(item, "name"), count(item, "site"), count(item, "parameters"))


def counts_of(value: Any) -> list[int]:
    """A list of counts; empty for anything else."""
    if not isinstance(value, list) or len(value) > MAX_SITES:
        return []
    counts = [as_count(one) for one in value]
    known = [one for one in counts if one is not None]
    return known if len(known) == len(counts) else []


def names_of(value: Any) -> tuple[str, ...]:
    """A list of names; empty for anything else."""
    fits = isinstance(value, list) and len(value) <= MAX_SITES
    return tuple(value) if fits and all(isinstance(one, str) and len(one) <= MAX_NAME_CHARS for one in value) else ()


def cuts_of(value: Any) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """What cuts the graph: labels, each with the matrices before it; what is not so is left out."""
    pairs = [one for one in value if isinstance(one, list) and len(one) == 2] if isinstance(value, list) else []
    return tuple(
        (label, tuple(counts_of(before)))
        for label, before in pairs[:MAX_CUTS]
        if isinstance(label, str) and len(label) <= MAX_NAME_CHARS
    )


def ending(entry: dict[str, Any]) -> dict[str, Any]:
    """The last line. Raises FaultError."""
    if entry["end"] not in ENDS:
        raise FaultError("ends in an unknown way")
    reason = text(entry, "reason")
    return {"end": entry["end"], "reason": reason, "rows": count(entry, "rows"), "dropped": count(entry, "dropped")}


def told_line(said: Mapping[str, Sequence[Change]], found: Mapping[str, Sequence[FindingChange]]) -> dict[str, Any]:
    """The line after a row: what is new to be said, and found; empty where nothing is."""
    if not said and not found:
        return {}
    findings = {
        rule: [[step, finding.as_json() if finding else None] for step, finding in news] for rule, news in found.items()
    }
    return {"said": said} | ({"findings": findings} if findings else {})


def _replace(kept: list[Any], news: Sequence[Any]) -> None:
    """Takes changes, in place of those that hold from the step of the first or later."""
    while kept and news and kept[-1][0] >= news[0][0]:
        kept.pop()
    kept += news


def _latest(changes: Sequence[Any], step: int) -> Any:
    """What holds at a step; None where nothing does."""
    after = bisect_right(changes, step, key=lambda change: change[0])
    return changes[after - 1][1] if after else None


def as_line(entry: Mapping[str, Any]) -> bytes:
    """A line of a file."""
    return json.dumps(entry, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
