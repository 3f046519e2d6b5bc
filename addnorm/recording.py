"""Reads recordings from any writer: strictly, within bounds, and up to the first fault.

Needs no torch. `addnorm/player/lines.js` reads the same in a browser. To follow a growing file, feed new bytes to a
`Reader`.
"""

from __future__ import annotations

import json
import math
import os
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from addnorm.display import Display
from addnorm.format import (
    BLOCK_SERIES,
    FACTS,
    NON_FINITE,
    OPTIONAL_SERIES,
    SCALARS,
    SERIES,
    SITE_SERIES,
    VERSION,
    encode_number,
)
from addnorm.rules import Change as FindingChange
from addnorm.rules import Diagnostic, parse_finding_changes, sorted_by_severity
from addnorm.sentences import KINDS as SENTENCE_KINDS
from addnorm.sentences import Narrator, update_sentences
from addnorm.words import LOSS, STEP, capitalised
from addnorm.words import number as number_in_words

MAX_LINE_BYTES = 8 << 20
MAX_FILE_BYTES = 4 << 30
CHUNK_BYTES = 1 << 20  # read at once
MAX_SITES = 20_000
MAX_BINS = 256  # of a histogram
MAX_FACTS = 1_000_000  # counts in all facts of a recording; further facts are left out
MAX_NUMBERS = 50_000_000  # in a recording, 8 bytes each; eight bytes of sentences count as one number
MAX_CUTS = 100  # of a graph
MAX_NAME_CHARS = 1000
MAX_SENTENCE_CHARS = 5000
MAX_SHAPE_AXES = 16
MAX_NESTING = 8  # levels
MAX_COUNT = 2**53 - 1  # the largest whole number that every JSON reader represents exactly
MAX_INT_DIGITS = 400  # more than the largest float has
UNREADABLE = "is not JSON, or is nested too deeply"

SITE_KINDS = ("start", "sum", "output")
ENDS = ("done", "error", "recorder")
HEADER_FIELDS = (
    "sites", "blocks", "heads", "weights", "bins", "matrices", "frozen", "calls", "cuts", "unheld", "unheld_blocks",
    "skipless",
)  # fmt: skip

Change = tuple[int, str]  # the step from which a sentence holds, and the sentence


class FaultError(ValueError):
    """The fault of a line as a predicate: "is not text"."""


@dataclass(frozen=True)
class SiteInfo:
    """A site as the header describes it."""

    name: str
    kind: str
    module: str
    shape: tuple[int, ...]
    dtype: str

    @cached_property
    def size(self) -> int:
        """The count of numbers."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class BlockInfo:
    """A block of weights: its name, the index of the first site that depends on it, and its number of weights."""

    name: str
    site: int
    parameters: int


class CutInfo(NamedTuple):
    """An operation that ends gradients, and the indices of the matrices before it."""

    label: str
    matrices: tuple[int, ...]


class LackInfo(NamedTuple):
    """A block without a skip that this many others of its kind have."""

    block: str
    peers: int


@dataclass(repr=False)
class Recording(Display):
    """The rows of a recording that have been read: one flat array for each scalar and series, row after row.

    Numbers that were not measured are NaN; `masks` has a 1 for each measured number and a 0 for the others. `problem`
    describes the fault at which reading stopped; it is empty without one.
    """

    header: dict[str, Any] = field(default_factory=dict)
    sites: tuple[SiteInfo, ...] = ()
    blocks: tuple[BlockInfo, ...] = ()
    heads: tuple[str, ...] = ()  # names, with detail="heads"
    weights: tuple[str, ...] = ()  # names of all trained parameters, with detail="heads"
    bins: int = 0  # of a histogram, with detail="histograms"
    matrices: tuple[str, ...] = ()  # names of the trained matrices, those in blocks first
    frozen: tuple[str, ...] = ()  # names of matrices that were not trained when the recording began
    calls: tuple[int, ...] = ()  # calls of each site's module in the first pass
    cuts: tuple[CutInfo, ...] = ()
    unheld: tuple[str, ...] = ()  # names of the trained matrices that the optimizer does not hold
    unheld_blocks: frozenset[int] = frozenset()  # indices of the blocks that have such
    skipless: tuple[LackInfo, ...] = ()  # blocks without the skip that others of their kind have
    steps: array[int] = field(default_factory=lambda: array("q"))
    seconds: array[float] = field(default_factory=lambda: array("d"))
    scalars: dict[str, array[float]] = field(default_factory=lambda: {name: array("d") for name in SCALARS})
    series: dict[str, array[float]] = field(default_factory=lambda: {name: array("d") for name in SERIES})
    masks: dict[str, bytearray] = field(default_factory=lambda: {name: bytearray() for name in SCALARS + SERIES})
    histograms: dict[int, array[float]] = field(default_factory=dict)  # by row: site after site, a share for each bin
    non_finite: set[int] = field(default_factory=set)  # rows with numbers that are not finite or too large to add up
    skipped: set[int] = field(default_factory=set)  # rows whose update AMP left out
    loss_shares: dict[int, int] = field(default_factory=dict)  # row -> number of shares that its loss is the sum of
    facts: dict[str, dict[int, list[int]]] = field(default_factory=dict)  # by name and row
    sentence_changes: dict[str, list[Change]] = field(default_factory=dict)  # by kind
    finding_changes: dict[str, list[FindingChange]] = field(default_factory=dict)  # by id
    end: dict[str, Any] | None = None
    problem: str = ""
    _narrator: Narrator | None = None  # only if the file lacks sentences or findings
    _lacks_sentences: bool = False
    _fact_count: int = 0  # counts in all facts

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<Recording of {self.header.get('model', 'nothing')}, {self.row_count()}, {len(self.sites)} sites>"

    def row_count(self) -> str:
        """The number of rows in words: "1 row", "2 rows"."""
        return f"{len(self)} {'row' if len(self) == 1 else 'rows'}"

    def snapshot(self) -> Recording:
        return self

    @property
    def is_complete(self) -> bool:
        """Whether the last line has been read."""
        return self.end is not None

    def row(self, name: str, at: int) -> Sequence[float]:
        """The numbers of a series in one row."""
        return self.series[name][self._slice(name, at)]

    def measured(self, name: str, row: int) -> Sequence[int]:
        """1 for each measured number of a series or scalar in one row, 0 for the others."""
        return self.masks[name][self._slice(name, row)]

    def values_at(self, name: str, row: int) -> list[float | None]:
        """The numbers of a series or scalar in one row; None where nothing was measured."""
        if name in self.scalars:
            return [self.scalars[name][row] if self.masks[name][row] else None]
        at = self._slice(name, row)
        mask, values = self.masks[name][at], self.series[name][at]
        if 0 not in mask:
            return list(values)
        return [value if is_measured else None for value, is_measured in zip(values, mask, strict=True)]

    def _slice(self, name: str, row: int) -> slice:
        width = self.width(name)
        return slice(row * width, (row + 1) * width)

    def width(self, name: str) -> int:
        """The count of numbers of a series or scalar in a row."""
        if name in SITE_SERIES:
            return len(self.sites)
        if name in BLOCK_SERIES:
            return len(self.blocks)
        return 1 if name in SCALARS else len(self.heads if name == "head" else self.weights)

    def histogram(self, at: int) -> list[list[float]]:
        """The share of each bin over -4 to 4 RMS by site, shape (sites, bins); empty if the row has no histograms."""
        shares = self.histograms.get(at, array("d")).tolist()
        return [shares[start : start + self.bins] for start in range(0, len(shares), max(1, self.bins))]

    def fact(self, name: str, row: int) -> list[int]:
        """A list of counts in a row; empty if it has none."""
        return self.facts.get(name, {}).get(row, [])

    def sentence(self, kind: str, at: int) -> str:
        """The sentence of a kind at a row; empty if there is none. `addnorm.sentences.KINDS` lists the kinds.

        Files without sentences get them here.
        """
        sentence = self._template(kind, at).replace(STEP, str(self.steps[at]), 1)
        if LOSS in sentence:
            sentence = sentence.replace(LOSS, number_in_words(self.scalars["loss"][at]), 1)
        return sentence

    def findings_at(self, at: int) -> list[Diagnostic]:
        """The findings up to a row, the errors first. Files without findings get them here."""
        if "ignored" not in self.header or self._lacks_sentences or not self.sentence_changes:
            self._narrate()
        step = self.steps[at]
        latest = (_latest(changes, step) for changes in self.finding_changes.values())
        return sorted_by_severity(finding for finding in latest if finding is not None)

    def shares_note(self, row: int) -> str:
        """A clause on a loss that is a sum of shares; empty for any other."""
        return f", the sum of the {self.loss_shares[row]} told" if row in self.loss_shares else ""

    def _template(self, kind: str, row: int) -> str:
        if self._lacks_sentences or not self.sentence_changes:
            self._narrate()
        return _latest(self.sentence_changes.get(kind, []), self.steps[row]) or ""

    def _narrate(self) -> None:
        """Forms findings, and sentences too if the file has none."""
        if self._narrator is None:
            self._narrator = Narrator()
            self._lacks_sentences = not self.sentence_changes
        for row in range(self._narrator.rows, len(self)):
            sentences, findings = self._narrator.add_row(self, row)
            self.add_findings(findings)
            if self._lacks_sentences:
                self.add_sentences(sentences)

    def add_sentences(self, changes: Mapping[str, Sequence[Change]]) -> None:
        """Adds sentences by kind. They replace earlier additions from the step of the first new one on."""
        for kind, new in changes.items():
            _replace_from(self.sentence_changes.setdefault(kind, []), new)

    def add_findings(self, changes: Mapping[str, Sequence[FindingChange]]) -> None:
        """Adds findings by id in the same way."""
        for rule, new in changes.items():
            _replace_from(self.finding_changes.setdefault(rule, []), new)

    def append(self, entry: Mapping[str, Any]) -> None:
        """Appends a row from its entry in the file. Raises FaultError."""
        step = parse_count(entry, "step")
        if self.steps and step <= self.steps[-1]:
            raise FaultError(f"is of step {step}, after step {self.steps[-1]}")
        scalars = {name: parse_number(entry.get(name), name) for name in SCALARS}
        seconds = parse_number(entry.get("seconds"), "seconds")
        series = {
            name: parse_series(entry.get(name), name, self.width(name), is_optional=name in OPTIONAL_SERIES)
            for name in SERIES
        }
        shares = None
        if entry.get("histogram") is not None:
            shares = parse_series(entry["histogram"], "histogram", len(self.sites) * self.bins)
        is_skipped = entry.get("skipped", False)
        if not isinstance(is_skipped, bool):
            raise FaultError("has a skipped that is neither true nor false")
        loss_shares = parse_count(entry, "loss_sum_of") if "loss_sum_of" in entry else 0

        row = len(self)
        self.steps.append(step)
        self.seconds.append(math.nan if seconds is None else seconds)
        for name, values in series.items():
            self.series[name].fromlist(_nan_for_none(values))
            self.masks[name].extend([value is not None for value in values])
        for name, scalar in scalars.items():
            self.scalars[name].append(math.nan if scalar is None else scalar)
            self.masks[name].append(scalar is not None)
        if not math.isfinite(sum(filter(None, chain(scalars.values(), *series.values())))):
            self.non_finite.add(row)
        if shares is not None:
            self.histograms[row] = array("d", _nan_for_none(shares))
        if is_skipped:
            self.skipped.add(row)
        if loss_shares:
            self.loss_shares[row] = loss_shares
        for name in filter(entry.__contains__, FACTS):
            counts = parse_counts(entry[name])
            if counts and self._fact_count + len(counts) <= MAX_FACTS:
                self._fact_count += len(counts)
                self.facts.setdefault(name, {})[row] = counts

    def single_row(self, entry: Mapping[str, Any]) -> Recording:
        """A recording of one row with this recording's header. `entry`: of the row in the file."""
        recording = Recording(self.header, **{name: getattr(self, name) for name in HEADER_FIELDS})
        recording.append(entry)
        return recording

    def lines(self, every: int = 1) -> Iterator[bytes]:
        """The lines of a file with this recording and its sentences.

        `every`: thins the rows to one of that many, the last one, and those with updates.
        """
        header = self.header
        try:
            yield encode_line(header)
        except ValueError:  # a setting too large for a number
            yield encode_line(header | {"meta": {}, "optimizer": None})
        sentences = dict.fromkeys(SENTENCE_KINDS, "")
        findings: dict[str, Diagnostic] = {}
        scalars = [name for name in SCALARS if any(self.masks[name])]
        for row, step in enumerate(self.steps):
            is_regular = row % every == 0 or row == len(self) - 1
            if not is_regular and not any(self.measured("update_to_weight", row)):
                continue
            yield encode_line(self._row_entry(row, scalars, with_histogram=is_regular))
            changes = update_sentences(sentences, {kind: self._template(kind, row) for kind in SENTENCE_KINDS}, step)
            previous_findings = findings
            findings = {finding.id: finding for finding in self.findings_at(row)} if "ignored" in header else {}
            finding_changes: dict[str, list[FindingChange]] = {
                rule: [(step, findings.get(rule))]
                for rule in sorted({**previous_findings, **findings})
                if previous_findings.get(rule) != findings.get(rule)
            }
            if entry := changes_entry(changes, finding_changes):
                yield encode_line(entry)
        if self.end is not None:
            yield encode_line(self.end)

    def _row_entry(self, row: int, scalars: Iterable[str], *, with_histogram: bool) -> dict[str, Any]:
        entry: dict[str, Any] = {"step": self.steps[row], "seconds": encode_number(self.seconds[row])}
        entry |= {name: encode_number(self.values_at(name, row)[0], 9) for name in scalars}
        for name in SERIES:
            if name not in OPTIONAL_SERIES or any(self.measured(name, row)):
                entry[name] = list(map(encode_number, self.values_at(name, row)))
        if with_histogram and row in self.histograms:
            entry["histogram"] = [None if math.isnan(share) else encode_number(share) for share in self.histograms[row]]
        if row in self.skipped:
            entry["skipped"] = True
        if row in self.loss_shares:
            entry["loss_sum_of"] = self.loss_shares[row]
        return entry | {name: counts for name in FACTS if (counts := self.fact(name, row))}


class Reader:
    """Reads a recording piece by piece, up to the first fault."""

    def __init__(self) -> None:
        self.recording = Recording()
        self._line_number = 0
        self._incomplete_line = b""
        self._numbers = 0

    def feed(self, data: bytes) -> Recording:
        """Reads the lines that these bytes complete, and returns the recording so far."""
        lines = (self._incomplete_line + data).split(b"\n")
        self._incomplete_line = lines.pop()
        for line in lines:
            if self.recording.problem:
                break
            self._read_line(line)
        if len(self._incomplete_line) > MAX_LINE_BYTES and not self.recording.problem:
            self._line_number += 1
            self._stop("is longer than a line of a recording can be")
        if self.recording.problem:
            self._incomplete_line = b""
        return self.recording

    def finish(self) -> Recording:
        """Reports missing parts of a file that no longer grows."""
        recording = self.recording
        if not recording.problem and self._incomplete_line:
            self._line_number += 1
            self._stop("is cut off; what came before it is shown" if recording.header else "is not a recording")
        elif not recording.problem and not recording.header:
            recording.problem = "The file is empty."
        return recording

    def _read_line(self, line: bytes) -> None:
        self._line_number += 1
        recording = self.recording
        try:
            if len(line) > MAX_LINE_BYTES:
                raise FaultError("is longer than a line of a recording can be")
            entry = parse_line(line)
            if recording.is_complete:
                raise FaultError("comes after the end of the recording")
            if not recording.header:
                self._read_header(entry)
            elif "end" in entry:
                recording.end = parse_end(entry)
            elif "said" in entry:
                self._count_numbers(len(line) // 8)
                steps = recording.steps
                recording.add_sentences(parse_sentences(entry["said"], steps))
                recording.add_findings(parse_finding_changes(entry.get("findings"), steps[-1] if steps else -1))
            else:
                shares = 0 if entry.get("histogram") is None else len(recording.sites) * recording.bins
                self._count_numbers(sum(map(recording.width, SERIES + SCALARS)) + 2 + shares)
                recording.append(entry)
        except FaultError as fault:
            self._stop(str(fault))

    def _stop(self, fault: str) -> None:
        self.recording.problem = f"Line {self._line_number} {fault}."

    def _read_header(self, entry: dict[str, Any]) -> None:
        version = count_or_none(entry.get("addnorm"))
        if not version:
            raise FaultError("is not the header of a recording")
        if version != VERSION:
            raise FaultError(f"says that this is version {version} of the format; this program reads version {VERSION}")
        sites = tuple(parse_site(item) for item in parse_list(entry, "sites"))
        blocks = tuple(parse_block(item) for item in parse_list(entry, "blocks"))
        heads = _parse_texts(entry, "heads")
        weights = _parse_texts(entry, "weights")
        for key in ("model", "dtype", "device", "created"):
            parse_text(entry, key)
        for note in parse_list(entry, "notes"):
            parse_text({"note": note}, "note")
        for key in ("parameters", "trained"):
            parse_count(entry, key)
        bins = parse_count(entry, "bins") if "bins" in entry else 0
        if bins > MAX_BINS:
            raise FaultError(f"has more than {MAX_BINS} bins")
        for key in ("versions", "meta"):
            if not isinstance(entry.get(key, {}), dict):
                raise FaultError(f"has a {key} that is not an object")
        if not isinstance(entry.get("optimizer"), dict | None):
            raise FaultError("has an optimizer that is not an object")
        recording = self.recording
        recording.header = entry
        recording.sites = sites
        recording.blocks = blocks
        recording.heads = heads
        recording.weights = weights
        recording.bins = bins
        recording.matrices = parse_names(entry.get("matrices"))
        recording.frozen = parse_names(entry.get("frozen"))
        recording.calls = tuple(parse_counts(entry.get("calls")))
        recording.cuts = parse_cuts(entry.get("cuts"))
        recording.unheld = parse_names(entry.get("unheld"))
        recording.unheld_blocks = frozenset(parse_counts(entry.get("unheld_blocks")))
        recording.skipless = parse_lacks(entry.get("skipless"))

    def _count_numbers(self, numbers: int) -> None:
        self._numbers += numbers
        if self._numbers > MAX_NUMBERS:
            raise FaultError("is over the limit; the lines before it are shown")


def read(path: str | os.PathLike[str], *, growing: bool = False) -> Recording:
    """The recording in a file, up to the first fault, which `problem` names. Raises nothing.

    `growing`: an unfinished last line is no fault.
    """
    reader = Reader()
    recording = reader.recording
    try:
        if not Path(path).is_file():
            raise OSError(f"{path} is not a file" if Path(path).exists() else f"there is no file {path}")
        with Path(path).open("rb") as file:
            remaining = MAX_FILE_BYTES
            while not recording.problem and (chunk := file.read(min(CHUNK_BYTES, remaining))):
                reader.feed(chunk)
                remaining -= len(chunk)
            if not remaining and not recording.problem:
                recording.problem = "The file is larger than a recording can be; what comes before is shown."
    except (OSError, ValueError) as error:
        recording.problem = f"{capitalised(getattr(error, 'strerror', None) or str(error))}."
    return recording if growing else reader.finish()


def recording_from_header(header: Mapping[str, Any]) -> Recording:
    return Reader().feed(encode_line(header))


def parse_line(line: bytes) -> dict[str, Any]:
    """A line as a mapping. Raises FaultError."""
    try:
        entry = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant, parse_int=_parse_int)
    except UnicodeDecodeError:
        raise FaultError("is not text") from None
    except (ValueError, RecursionError):
        raise FaultError(UNREADABLE) from None
    if not isinstance(entry, dict):
        raise FaultError("is not an object")
    if is_too_deep(entry):
        raise FaultError(UNREADABLE)
    return entry


def is_too_deep(value: Any) -> bool:
    """Whether JSON is nested deeper than MAX_NESTING levels."""
    level: list[Any] = [value]
    for _ in range(MAX_NESTING):
        level = [item for container in level for item in _items(container) if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _items(container: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and Infinity are not JSON


def _parse_int(digits: str) -> float:
    """A whole number; infinite if it has more digits than any float."""
    return int(digits) if len(digits) < MAX_INT_DIGITS else float(digits)


def parse_number(value: Any, name: str) -> float | None:
    """A number of a row, finite or the name of one that is not; None for null. Raises FaultError."""
    if value is None or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, str) and value in NON_FINITE:
        return NON_FINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FaultError(f"has a value of {name} that is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise FaultError(f"has a value of {name} that is too large")
    return number


def parse_series(value: Any, name: str, width: int, *, is_optional: bool = False) -> list[float | None]:
    """A series of a row, shape (width,). Raises FaultError."""
    if value is None and is_optional:
        return [None] * width
    if not isinstance(value, list):
        raise FaultError(f"has {name} that is not a list")
    if len(value) != width:
        raise FaultError(f"has {len(value)} numbers of {name} where there should be {width}")
    return [parse_number(item, name) for item in value]


def _nan_for_none(values: Iterable[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def parse_count(entry: Mapping[str, Any], key: str) -> int:
    """A whole number from 0 to MAX_COUNT. Raises FaultError."""
    value = count_or_none(entry.get(key))
    if value is None:
        raise FaultError(f"has a {key} that is not a count")
    return value


def count_or_none(value: Any) -> int | None:
    """A count in any JSON notation (1, 1.0, 1e0); None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= MAX_COUNT and value == int(value) else None


def parse_text(entry: dict[str, Any], key: str, max_chars: int = MAX_NAME_CHARS) -> str:
    """A text of bounded length. Raises FaultError."""
    value = entry.get(key)
    if not isinstance(value, str):
        raise FaultError(f"has a {key} that is not text")
    if len(value) > max_chars:
        raise FaultError(f"has a {key} that is too long")
    return value


def parse_list(entry: dict[str, Any], key: str) -> list[Any]:
    """A list of bounded length. Raises FaultError."""
    value = entry.get(key)
    if not isinstance(value, list):
        raise FaultError(f"has {key} that are not a list")
    if len(value) > MAX_SITES:
        raise FaultError(f"has more than {MAX_SITES} {key}")
    return value


def _parse_texts(entry: dict[str, Any], key: str) -> tuple[str, ...]:
    items = parse_list({key: entry.get(key, [])}, key)
    return tuple(parse_text({key: item}, key) for item in items)


def parse_sentences(value: Any, steps: Sequence[int]) -> dict[str, list[Change]]:
    """Changes of sentences by kind, up to the last of `steps`. Raises FaultError."""
    if not isinstance(value, dict):
        raise FaultError("has a said that is not an object")
    by_kind: dict[str, list[Change]] = {}
    for kind, items in value.items():
        changes: list[Change] = []
        by_kind[parse_text({"kind": kind}, "kind")] = changes
        for item in parse_list({"sentences": items}, "sentences"):
            if not isinstance(item, list) or len(item) != 2:
                raise FaultError("has a sentence without a step")
            step = parse_count({"step": item[0]}, "step")
            if not steps or step > steps[-1]:
                raise FaultError(f"has a sentence about step {step}, which has not come")
            if changes and step <= changes[-1][0]:
                raise FaultError("has sentences out of order")
            changes.append((step, parse_text({"sentence": item[1]}, "sentence", MAX_SENTENCE_CHARS)))
        if not changes:
            raise FaultError("has a kind of sentence without one")
    return by_kind


def parse_site(item: Any) -> SiteInfo:
    """A site of the header. Raises FaultError."""
    if not isinstance(item, dict):
        raise FaultError("has a site that is not an object")
    shape = item.get("shape")
    if not isinstance(shape, list) or len(shape) > MAX_SHAPE_AXES:
        raise FaultError("has a site without a shape")
    kind = parse_text(item, "kind")
    if kind not in SITE_KINDS:
        raise FaultError("has a site of an unknown kind")
    sizes = tuple(parse_count({"shape": size}, "shape") for size in shape)
    return SiteInfo(parse_text(item, "name"), kind, parse_text(item, "module"), sizes, parse_text(item, "dtype"))


def parse_block(item: Any) -> BlockInfo:
    """A block of the header. Raises FaultError."""
    if not isinstance(item, dict):
        raise FaultError("has a block that is not an object")
    return BlockInfo(parse_text(item, "name"), parse_count(item, "site"), parse_count(item, "parameters"))


def parse_counts(value: Any) -> list[int]:
    """A list of counts; empty for anything else."""
    if not isinstance(value, list) or len(value) > MAX_SITES:
        return []
    counts: list[int] = []
    for item in value:
        count = count_or_none(item)
        if count is None:
            return []
        counts.append(count)
    return counts


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_NAME_CHARS


def parse_names(value: Any) -> tuple[str, ...]:
    """A list of names; empty for anything else."""
    if not isinstance(value, list) or len(value) > MAX_SITES or not all(map(_is_name, value)):
        return ()
    return tuple(value)


def parse_cuts(value: Any) -> tuple[CutInfo, ...]:
    """The cuts of a graph. Anything malformed is left out."""
    items = value if isinstance(value, list) else []
    pairs = [item for item in items if isinstance(item, list) and len(item) == 2][:MAX_CUTS]
    return tuple(CutInfo(label, tuple(parse_counts(matrices))) for label, matrices in pairs if _is_name(label))


def parse_lacks(value: Any) -> tuple[LackInfo, ...]:
    """The blocks that lack a skip. Anything malformed is left out."""
    items = value if isinstance(value, list) else []
    pairs = [item for item in items if isinstance(item, list) and len(item) == 2][:MAX_CUTS]
    return tuple(LackInfo(name, count) for name, item in pairs if _is_name(name) and (count := count_or_none(item)))


def parse_end(entry: dict[str, Any]) -> dict[str, Any]:
    """The last line. Raises FaultError."""
    if entry["end"] not in ENDS:
        raise FaultError("ends in an unknown way")
    reason = parse_text(entry, "reason")
    rows, dropped = parse_count(entry, "rows"), parse_count(entry, "dropped")
    return {"end": entry["end"], "reason": reason, "rows": rows, "dropped": dropped}


def changes_entry(
    sentences: Mapping[str, Sequence[Change]], findings: Mapping[str, Sequence[FindingChange]]
) -> dict[str, Any]:
    """The line after a row with its new sentences and findings; empty if there are none."""
    if not sentences and not findings:
        return {}
    entry: dict[str, Any] = {"said": sentences}
    if findings:
        entry["findings"] = {
            rule: [[step, finding.as_json() if finding else None] for step, finding in changes]
            for rule, changes in findings.items()
        }
    return entry


def _replace_from(changes: list[Any], new: Sequence[Any]) -> None:
    """Appends changes in place of those that hold from the step of the first new one or later."""
    while changes and new and changes[-1][0] >= new[0][0]:
        changes.pop()
    changes += new


def _latest(changes: Sequence[Any], step: int) -> Any:
    """The value of the last change up to a step; None if there is none."""
    end = bisect_right(changes, step, key=lambda change: change[0])
    return changes[end - 1][1] if end else None


def encode_line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, allow_nan=False, separators=(",", ":")).encode() + b"\n"
