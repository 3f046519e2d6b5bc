"""A recording as a table of text: site, signal, gradient at one step, and what the sentences say of it."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Collection, Iterator

from addnorm.recording import Recording
from addnorm.words import how_it_stands, shared_prefix, shortened


def table(recording: Recording, step: int | None = None, ignore: Collection[str] = ()) -> Iterator[str]:
    """The lines of the table for one step, by default the last; one sentence where there is no row.

    `ignore`: ids of findings that are left out.
    """
    if not len(recording):
        yield shortened(recording.problem or "There is no row yet.", 500)
        return
    at = row_of(recording, step)
    header = recording.header
    rows = f"{len(recording)} {'row' if len(recording) == 1 else 'rows'}"
    yield f"{shortened(header['model'], 60)}, {header['parameters']:,} parameters, {rows}, {_standing(recording)}"
    (loss,) = recording.at("loss", at)
    summed = f", the sum of the {recording.summed[at]} told" if at in recording.summed else ""
    yield f"step {recording.steps[at]}" + ("" if loss is None else f", loss {loss:.4g}{summed}")
    room = max(20, shutil.get_terminal_size().columns - 28)
    names = [site.name for site in recording.sites]
    prefix = shared_prefix(names)
    mostly = "" if all(name.startswith(prefix) for name in names) else ", mostly"
    head, names = f"site{mostly} in {prefix[:-1]}" if prefix else "site", [name.removeprefix(prefix) for name in names]
    width = min(room, max(map(len, (head, *names))))
    yield f"{shortened(head, width):<{width}}  {'signal':>12}{'gradient':>12}"
    act, grad = (list(_shown(recording, name, at)) for name in ("act_rms", "grad_rms"))
    for name, left, right in zip(names, act, grad, strict=True):
        yield f"{shortened(name, width):<{width}}  {left:>12}{right:>12}"
    first, later = (
        [recording.sentence(kind, at) for kind in kinds]
        for kinds in (("verdict", "jumps"), ("helps", "law", "update", "lost"))
    )
    found = [
        f"{finding.id} {finding.severity}: {finding.sentence}"
        for finding in recording.findings_at(at)
        if finding.id not in {"AN-N1", *ignore}  # `lost` says the first, also of earlier rows
    ]
    if recording.histograms:
        steps = [recording.steps[row] for row in recording.histograms]
        yield f"Histograms of the signal at {len(steps)} steps, the last at step {steps[-1]}: --html draws them."
    yield from (shortened(one, 500) for one in (*first, *found, *later, *header["notes"]) if one)


def row_of(recording: Recording, step: int | None) -> int:
    """The row of a step, or the last one before it."""
    if step is None:
        return len(recording) - 1
    return max((at for at, known in enumerate(recording.steps) if known <= step), default=0)


def _standing(recording: Recording) -> str:
    dropped = recording.end["dropped"] if recording.end else 0
    return shortened(how_it_stands(recording, time.time()), 200) + (f", {dropped} rows dropped" if dropped else "")


def _shown(recording: Recording, name: str, at: int) -> Iterator[str]:
    for value in recording.at(name, at):
        yield "-" if value is None else f"{value:.4g}" if math.isfinite(value) else str(value)
