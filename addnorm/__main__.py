"""`python -m addnorm show run.jsonl` prints a recording as a table, also while it grows."""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NoReturn

from addnorm.findings import findings
from addnorm.law import law_in_words
from addnorm.recording import Recording, read
from addnorm.words import first_not_finite, how_it_stands, jumps, shared_prefix, shortened, updates, verdict


class Parser(argparse.ArgumentParser):
    """Reports an error in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str]) -> int:
    """Runs a command. Returns 2, with a sentence on stderr, where there is nothing to show, 1 after a faulty line."""
    parser = Parser(prog="python -m addnorm", description="Recordings of `addnorm.watch`.")
    commands = parser.add_subparsers(required=True, metavar="command")
    show = commands.add_parser("show", help="a recording as a table: site, activation, gradient, and a line of words")
    show.add_argument("path", help="the file")
    show.add_argument("--step", type=int, metavar="N", help="the last row up to that step (default: the last of all)")
    given = parser.parse_args(arguments)
    recording = read(given.path, growing=True)
    if not recording.header or not len(recording):
        print(f"{parser.prog}: {shortened(recording.problem or 'There is no row yet.', 500)}", file=sys.stderr)
        return 2
    try:
        print("\n".join(table(recording, given.step)))
    except BrokenPipeError:  # `head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if recording.problem:
        print(f"{parser.prog}: {shortened(recording.problem, 500)}", file=sys.stderr)
        return 1
    return 0


def table(recording: Recording, step: int | None = None) -> Iterator[str]:
    """The lines of the table for one step."""
    at = row_of(recording, step)
    header = recording.header
    rows = f"{len(recording)} {'row' if len(recording) == 1 else 'rows'}"
    yield f"{shortened(header['model'], 60)}, {header['parameters']:,} parameters, {rows}, {_standing(recording)}"
    loss = recording.scalars["loss"][at]
    yield f"step {recording.steps[at]}" + (f", loss {loss:.4g}" if recording.measured("loss", at)[0] else "")
    room = max(20, shutil.get_terminal_size().columns - 28)
    names = [site.name for site in recording.sites]
    prefix = shared_prefix(names)
    mostly = "" if all(name.startswith(prefix) for name in names) else ", mostly"
    head, names = f"site{mostly} in {prefix[:-1]}" if prefix else "site", [name.removeprefix(prefix) for name in names]
    width = min(room, max(map(len, (head, *names))))
    yield f"{shortened(head, width):<{width}}  {'activation':>12}{'gradient':>12}"
    act, grad = (list(_shown(recording, name, at)) for name in ("act", "grad"))
    for name, left, right in zip(names, act, grad, strict=True):
        yield f"{shortened(name, width):<{width}}  {left:>12}{right:>12}"
    of_row = (words(recording, at) for words in (verdict, jumps, findings, law_in_words, updates))
    yield from (shortened(one, 500) for one in (*of_row, first_not_finite(recording), *header["notes"]) if one)


def row_of(recording: Recording, step: int | None) -> int:
    """The row of a step, or the last one before it."""
    if step is None:
        return len(recording) - 1
    return max((at for at, known in enumerate(recording.steps) if known <= step), default=0)


def _standing(recording: Recording) -> str:
    dropped = recording.end["dropped"] if recording.end else 0
    return shortened(how_it_stands(recording, time.time()), 200) + (f", {dropped} rows dropped" if dropped else "")


def _shown(recording: Recording, name: str, at: int) -> Iterator[str]:
    for value, measured in zip(recording.row(name, at), recording.measured(name, at), strict=True):
        yield "-" if not measured else f"{value:.4g}" if math.isfinite(value) else str(value)


def command() -> int:
    """The entry point of the `addnorm` script."""
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(command())
