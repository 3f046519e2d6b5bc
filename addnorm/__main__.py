"""`python -m addnorm show run.jsonl` prints a recording as a table, also while it grows, or writes a page or CSV."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from addnorm.player.charts import ORDINALS
from addnorm.recording import Recording, read
from addnorm.rules import SEVERITIES, Diagnostic, unknown_rules
from addnorm.shown import side_by_side
from addnorm.table import row_of, table
from addnorm.words import shortened

MAX_RECORDINGS = len(ORDINALS)  # recordings on one page
FOUND = 3  # the exit status of --fail-on


class Parser(argparse.ArgumentParser):
    """Reports an error in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def _parsers() -> tuple[Parser, Parser]:
    """The parser of the command line, and that of `show`."""
    parser = Parser(prog="python -m addnorm", description="Recordings of `addnorm.watch`.")
    commands = parser.add_subparsers(required=True, metavar="command")
    show = commands.add_parser("show", help="a recording as a table: site, signal, gradient, and a line of words")
    show.add_argument("paths", nargs="+", metavar="path", help="the file; several, up to eight, for --html")
    show.add_argument("--step", type=int, metavar="N", help="the last row up to that step (default: the last of all)")
    show.add_argument("--html", metavar="FILE", help="writes a page that plays the recording, instead of the table")
    show.add_argument("--csv", metavar="FILE", help="writes a row per step and site, instead of the table")
    show.add_argument("--json", action="store_true", help="prints the findings as JSON, instead of the table")
    show.add_argument(
        "--fail-on", choices=SEVERITIES[1:], help=f"exits with {FOUND} where a finding is at least so severe"
    )
    show.add_argument(
        "--ignore", metavar="ID", action="append", default=[], help="leaves a finding out, by its id; may be repeated"
    )
    return parser, show


def _refused(given: argparse.Namespace) -> str:
    """Why options of `show` make no sense, in a sentence; empty where they do."""
    if len(given.paths) > MAX_RECORDINGS:
        return f"there are {len(given.paths)} recordings; legal is 1 to {MAX_RECORDINGS}"
    if unknown := unknown_rules(given.ignore):
        return f"--ignore: {unknown}"
    if len(given.paths) > 1 and (given.csv or not given.html):
        return "several recordings are shown as a page: name it with --html"
    return ""


def main(arguments: Sequence[str]) -> int:
    """Runs a command. Returns 2, with a sentence on stderr, where there is nothing to show, 1 after a faulty line.

    FOUND where --fail-on has something to fail on.
    """
    parser, show = _parsers()
    given = parser.parse_args(arguments)
    if refusal := _refused(given):
        show.error(refusal)
    stems = [Path(path).stem for path in given.paths]
    names = stems if len(set(stems)) == len(stems) else given.paths
    recordings = {name: read(path, growing=True) for name, path in zip(names, given.paths, strict=True)}
    for recording in recordings.values():
        if not recording.header or not len(recording):
            print(f"{parser.prog}: {shortened(recording.problem or 'There is no row yet.', 500)}", file=sys.stderr)
            return 2
    recording = recordings[names[0]]
    row = row_of(recording, given.step)
    findings = [one for one in recording.findings_at(row) if one.id not in given.ignore]
    try:
        if given.html:
            print(side_by_side(recordings, given.html) if len(recordings) > 1 else recording.html(given.html))
        if given.csv:
            print(recording.csv(given.csv))
        if given.json:
            print(json.dumps(_as_json(recording, row, findings), indent=1))
        if not (given.html or given.csv or given.json):
            print("\n".join(table(recording, given.step, given.ignore)))
    except BrokenPipeError:  # `head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"{parser.prog}: {error.filename} cannot be written: {error.strerror}.", file=sys.stderr)
        return 2
    problems = [shortened(one.problem, 500) for one in recordings.values() if one.problem]
    for problem in problems:
        print(f"{parser.prog}: {problem}", file=sys.stderr)
    if problems:
        return 1
    severe = SEVERITIES[SEVERITIES.index(given.fail_on) :] if given.fail_on else ()
    return FOUND if any(one.severity in severe for one in findings) else 0


def _as_json(recording: Recording, row: int, findings: Iterable[Diagnostic]) -> dict[str, Any]:
    """The findings of a row with what they are of."""
    about = {"model": recording.header["model"], "rows": len(recording), "step": recording.steps[row]}
    words = {"verdict": recording.sentence("verdict", row), "problem": recording.problem}
    return {**about, **words, "findings": [{"id": one.id, **one.as_json()} for one in findings]}


def command() -> int:
    """The entry point of the `addnorm` script."""
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(command())
