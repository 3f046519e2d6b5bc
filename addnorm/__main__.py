"""`python -m addnorm`: `show` prints a recording as a table or writes a page or CSV, `compare` says where two part."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from addnorm import __version__
from addnorm.comparison import comparison
from addnorm.display import side_by_side
from addnorm.player.charts import ORDINALS
from addnorm.recording import Recording, read
from addnorm.rules import SEVERITIES, Diagnostic, unknown_rules_message
from addnorm.table import row_at_step, table
from addnorm.words import truncate

MAX_RECORDINGS = len(ORDINALS)  # on one page
MAX_PROBLEM_CHARS = 500
# Exit statuses
EXIT_FAULTY_LINE = 1
EXIT_ERROR = 2  # wrong arguments, or nothing to show
EXIT_FINDINGS = 3  # --fail-on has found one
EXIT_PARTED = 4  # `compare` has found a difference
FOLLOW_SECONDS = 1.0  # between two looks at a file that grows


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_ERROR, f"{self.prog}: {message}\n")


def _parsers() -> tuple[Parser, Parser]:
    """The parsers of the command line and of `show`."""
    parser = Parser(prog="python -m addnorm", description="Recordings of `addnorm.watch`.")
    parser.add_argument("--version", action="version", version=f"addnorm {__version__}")
    commands = parser.add_subparsers(metavar="command", dest="command")
    compare = commands.add_parser("compare", help="where two recordings first differ: step and site")
    compare.add_argument("paths", nargs=2, metavar="path", help="the files")
    compare.add_argument(
        "--tolerance", type=float, default=0.0, metavar="T", help="relative difference to ignore (default: 0)"
    )
    show = commands.add_parser("show", help="a recording as a table: site, signal, gradient, and a line of words")
    show.add_argument("paths", nargs="+", metavar="path", help="the file; several, up to eight, for --html")
    show.add_argument("--step", type=int, metavar="N", help="the last row up to that step (default: the last row)")
    show.add_argument(
        "--follow", action="store_true", help="prints the table again whenever rows arrive, until the recording ends"
    )
    show.add_argument("--html", metavar="FILE", help="writes a page that plays the recording, instead of the table")
    show.add_argument("--csv", metavar="FILE", help="writes a row per step and site, instead of the table")
    show.add_argument("--json", action="store_true", help="prints the findings as JSON, instead of the table")
    show.add_argument(
        "--fail-on", choices=SEVERITIES[1:], help=f"exits with {EXIT_FINDINGS} if a finding is at least this severe"
    )
    show.add_argument(
        "--ignore", metavar="ID", action="append", default=[], help="leaves a finding out, by its id; may be repeated"
    )
    return parser, show


def _option_error(options: argparse.Namespace) -> str:
    """One sentence on options of `show` that contradict each other; empty if none do."""
    if len(options.paths) > MAX_RECORDINGS:
        return f"there are {len(options.paths)} recordings; legal is 1 to {MAX_RECORDINGS}"
    if message := unknown_rules_message(options.ignore):
        return f"--ignore: {message}"
    if options.follow and (len(options.paths) > 1 or options.html or options.csv or options.json):
        return "--follow prints the table of one recording"
    if len(options.paths) > 1 and (options.csv or not options.html):
        return "several recordings are shown as a page: name it with --html"
    return ""


def main(arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit status, with a sentence on stderr for a fault.

    EXIT_ERROR takes precedence over EXIT_FAULTY_LINE, and this over EXIT_FINDINGS.
    """
    parser, show = _parsers()
    options = parser.parse_args(arguments)
    if options.command != "show":
        return _other_command(parser, options)
    if error_message := _option_error(options):
        show.error(error_message)
    recordings = _read_all(options.paths)
    if options.follow:
        recordings = _follow(options)
    problems = [truncate(recording.problem, MAX_PROBLEM_CHARS) for recording in recordings.values()]
    for recording, problem in zip(recordings.values(), problems, strict=True):
        if not recording.header or not len(recording):
            print(f"{parser.prog}: {problem or 'There is no row yet.'}", file=sys.stderr)
            return EXIT_ERROR
    first = next(iter(recordings.values()))
    row = row_at_step(first, options.step)
    findings = [finding for finding in first.findings_at(row) if finding.id not in options.ignore]
    try:
        _show(options, recordings, row, findings)
        sys.stdout.flush()
    except BrokenPipeError:  # `head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        path = error.filename or options.html or options.csv or "the output"
        print(f"{parser.prog}: {path} cannot be written: {error.strerror}.", file=sys.stderr)
        if error.filename is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_ERROR
    for problem in filter(None, problems):
        print(f"{parser.prog}: {problem}", file=sys.stderr)
    if any(problems):
        return EXIT_FAULTY_LINE
    failing = SEVERITIES[SEVERITIES.index(options.fail_on) :] if options.fail_on else ()
    return EXIT_FINDINGS if any(finding.severity in failing for finding in findings) else 0


def _read_all(paths: Sequence[str]) -> dict[str, Recording]:
    """The recordings by the stems of their paths; by their paths if two stems are equal."""
    stems = [Path(path).stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else paths
    return {name: read(path, growing=True) for name, path in zip(names, paths, strict=True)}


def _follow(options: argparse.Namespace) -> dict[str, Recording]:
    """Prints the table whenever there are new rows, until the recording has ended; Ctrl+C ends it too."""
    recordings = _read_all(options.paths)
    rows = -1
    with suppress(KeyboardInterrupt):
        while True:
            (recording,) = recordings.values()
            if len(recording) != rows and recording.header:
                rows = len(recording)
                print("\n".join(table(recording, options.step, options.ignore)), end="\n\n", flush=True)
            if recording.is_complete or recording.problem:
                break
            time.sleep(FOLLOW_SECONDS)
            recordings = _read_all(options.paths)
    return recordings


def _other_command(parser: Parser, options: argparse.Namespace) -> int:
    """Prints the usage, or where two recordings first differ. Returns EXIT_PARTED where they do."""
    if options.command is None:
        parser.print_help()
        return 0
    first, other = (read(path, growing=True) for path in options.paths)
    for path, recording in zip(options.paths, (first, other), strict=True):
        if not len(recording):
            print(f"{parser.prog}: {path}: {recording.problem or 'There is no row yet.'}", file=sys.stderr)
            return EXIT_ERROR
    has_parted, sentences = comparison(first, other, options.tolerance)
    print("\n".join(truncate(sentence, MAX_PROBLEM_CHARS) for sentence in sentences))
    return EXIT_PARTED if has_parted else 0


def _show(
    options: argparse.Namespace, recordings: Mapping[str, Recording], row: int, findings: Iterable[Diagnostic]
) -> None:
    """Writes files or prints the table. `row` and `findings` are of the first recording."""
    recording = next(iter(recordings.values()))
    if options.html:
        is_single = len(recordings) == 1
        print(recording.html(options.html) if is_single else side_by_side(recordings, options.html))
    if options.csv:
        print(recording.csv(options.csv))
    if options.json:
        print(json.dumps(_as_json(recording, row, findings), indent=1))
    if not (options.html or options.csv or options.json or options.follow):
        print("\n".join(table(recording, options.step, options.ignore)))


def _as_json(recording: Recording, row: int, findings: Iterable[Diagnostic]) -> dict[str, Any]:
    return {
        "model": recording.header["model"],
        "rows": len(recording),
        "step": recording.steps[row],
        "verdict": recording.sentence("verdict", row),
        "problem": recording.problem,
        "findings": [{"id": finding.id, **finding.as_json()} for finding in findings],
    }


def command() -> int:
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(command())
