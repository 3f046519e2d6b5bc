"""A recording as a table of text: signal and gradient by site at one step, and the sentences about it."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Collection, Iterator

from addnorm.recording import Recording
from addnorm.rules import Diagnostic
from addnorm.words import common_prefix, number, recording_status, truncate

MAX_SENTENCE_CHARS = 500
COLUMN_CHARS = 12
RESERVED_CHARS = 2 * COLUMN_CHARS + 4  # per line, for the columns beside the names
MIN_SITE_CHARS = 20
MAX_MODEL_CHARS = 60
MAX_STATUS_CHARS = 200


def table(recording: Recording, step: int | None = None, ignore: Collection[str] = ()) -> Iterator[str]:
    """Yields the lines of the table at one step, by default the last; a single sentence if there are no rows.

    `ignore` has the ids of findings to leave out.
    """
    if not len(recording):
        yield truncate(recording.problem or "There is no row yet.", MAX_SENTENCE_CHARS)
        return
    row = row_at_step(recording, step)
    header = recording.header
    model = f"{truncate(header['model'], MAX_MODEL_CHARS)}, {header['parameters']:,} parameters"
    yield f"{model}, {recording.row_count()}, {_status(recording)}"
    (loss,) = recording.values_at("loss", row)
    loss_text = "" if loss is None else f", loss {loss:.4g}{recording.shares_note(row)}"
    yield f"step {recording.steps[row]}{loss_text}"
    yield from _site_lines(recording, row)
    if recording.histograms:
        steps = [recording.steps[index] for index in recording.histograms]
        yield f"Histograms of the signal at {len(steps)} steps, the last at step {steps[-1]}: --html draws them."
    verdicts = [recording.sentence(kind, row) for kind in ("verdict", "jumps", "law", "update")]
    findings = [finding for finding in recording.findings_at(row) if finding.id not in ignore]
    lost = "" if any(finding.id == "AN-N1" for finding in findings) else recording.sentence("lost", row)
    last = [recording.sentence("helps", row), lost] if findings else [lost or "Nothing was found."]
    described = [text for finding in findings for text in _described(finding)]
    for sentence in (*verdicts, *header["notes"], *described, *last):
        if sentence:
            yield truncate(sentence, MAX_SENTENCE_CHARS)


def _described(finding: Diagnostic) -> Iterator[str]:
    """The lines of a finding: what is so, the numbers beside the threshold, and what to do."""
    yield f"{finding.id} {finding.severity}: {finding.sentence}"
    place = f"at {finding.place}: " if finding.place else ""
    numbers = [
        f"{name} {value if isinstance(value, str) else number(value)}" for name, value in finding.numbers.items()
    ]
    yield f"  {place}{', '.join([*numbers, f'threshold {number(finding.threshold)}'])} ({finding.reference})"
    yield f"  {finding.advice}"


def row_at_step(recording: Recording, step: int | None) -> int:
    """The index of the last row up to a step; the last row of all for None."""
    if step is None:
        return len(recording) - 1
    return max((row for row, row_step in enumerate(recording.steps) if row_step <= step), default=0)


def _site_lines(recording: Recording, row: int) -> Iterator[str]:
    """Yields a header, and a line with signal and gradient for each site; a shared prefix of names is in the header."""
    names = [site.name for site in recording.sites]
    prefix = common_prefix(names)
    mostly = "" if all(name.startswith(prefix) for name in names) else ", mostly"
    title = f"site{mostly} in {prefix[:-1]}" if prefix else "site"
    names = [name.removeprefix(prefix) for name in names]
    available = max(MIN_SITE_CHARS, shutil.get_terminal_size().columns - RESERVED_CHARS)
    width = min(available, max(map(len, (title, *names))))
    yield f"{truncate(title, width):<{width}}  {'signal':>{COLUMN_CHARS}}{'gradient':>{COLUMN_CHARS}}"
    act = map(_cell, recording.values_at("act_rms", row))
    grad = map(_cell, recording.values_at("grad_rms", row))
    for name, signal, gradient in zip(names, act, grad, strict=True):
        yield f"{truncate(name, width):<{width}}  {signal:>{COLUMN_CHARS}}{gradient:>{COLUMN_CHARS}}"


def _status(recording: Recording) -> str:
    status = truncate(recording_status(recording, time.time()), MAX_STATUS_CHARS)
    dropped = recording.end["dropped"] if recording.end else 0
    return f"{status}, {dropped} rows dropped" if dropped else status


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if math.isfinite(value) else str(value)
