"""The command line: trains runs, measures signals at initialisation, computes maps, with the same numbers as the pages.

Bad input ends with exit code 2 and one sentence on stderr. Only commands that compute import torch.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from addnorm.__main__ import Parser
from models.catalogue import CATALOGUE, listing
from models.export import configuration_from, configuration_json, digest_of, findings, trace_csv
from models.insight.words import count_in_words
from models.maps import command
from models.maps import coordinates as coordinate_check
from models.runlog import EVENTS_FILE, HEAD_FILE, ROWS_FILE, LogDamageError, RunLog, engine_fingerprint, folder_of
from models.service.messages import log_key
from models.service.recorded import RECORDED_CONFIGS
from models.service.runs import FOLDER_VARIABLE
from models.spec import ARRANGEMENTS, RunConfig, arrangement_of, knobs
from models.spec import overrides as overrides_text
from models.spec.budget import budget_refusal
from models.spec.query import BOOLEANS

if TYPE_CHECKING:
    from models.training import Run

BAR_CHARS = 30  # length of the progress bar
SLICE_SECONDS = 0.2  # between updates of the progress bar and of the log


def main(argv: Sequence[str]) -> int:
    """Runs a command; returns the exit code."""
    parser = _parser()
    args = parser.parse_args(argv)
    try:
        exit_code = int(args.command(args))
        sys.stdout.flush()
        return exit_code
    except ValueError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # such as of `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"{parser.prog}: {error.filename or 'the output'} cannot be written: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2


def _parser() -> Parser:
    parser = Parser(prog="python -m models", description="Residual connections and normalisation, measured.")
    commands = parser.add_subparsers(required=True, metavar="command")
    train = commands.add_parser("train", help="train one configuration and report the findings")
    _add_configuration_arguments(train)
    train.add_argument("--steps", metavar="N", help="length of the run")
    train.add_argument("--csv", metavar="PATH", help="write the log, one row per step and site")
    train.add_argument("--json", metavar="PATH", help="write the configuration")
    train.add_argument("--out", metavar="DIR", help="write the run's log to this folder, for `open` and `play`")
    train.add_argument("--progress", action="store_true", help="draw the progress bar even if stderr is no terminal")
    train.set_defaults(command=_train)
    signal_ = commands.add_parser("signal", help="activation and gradient at initialisation, on Gaussian input")
    _add_configuration_arguments(signal_)
    signal_.add_argument(
        "--seeds", type=positive_count, default=2, metavar="N", help="seeds to average over (default 2)"
    )
    signal_.add_argument(
        "--rows", type=positive_count, default=256, metavar="N", help="tokens of Gaussian input (default 256)"
    )
    signal_.add_argument("--csv", metavar="PATH", help="write one row per seed and site")
    signal_.set_defaults(command=_signal)
    map_ = commands.add_parser("map", help="compute a map from its specification; a stopped map resumes")
    command.add_arguments(map_)
    map_.set_defaults(command=command.run)
    check = commands.add_parser(
        "coordinates", help="RMS of all sites and logits over width or depth, before and after the first updates"
    )
    _add_configuration_arguments(check)
    coordinate_check.add_arguments(check)
    check.set_defaults(command=_coordinates)
    open_ = commands.add_parser(
        "open", help="start the app with a recording of your own model, even a growing one, or a stored run"
    )
    open_.add_argument("path", help="a .jsonl recording, or a folder written by `train --out`")
    open_.add_argument("--no-browser", action="store_true", help="print the address and open nothing")
    open_.set_defaults(command=_open)
    play = commands.add_parser("play", help="write a stored run as one HTML page that plays without a server")
    play.add_argument("path", help="a folder written by `train --out`; its newest run is used")
    play.add_argument("--html", metavar="PATH", default="run.html", help="the page (default run.html)")
    play.set_defaults(command=_play)
    static = commands.add_parser(
        "static", help="write the pages that train in the browser as a folder for any web host, which needs no server"
    )
    static.add_argument("folder", metavar="OUT", help="the folder; open its index.html, or copy it to a web host")
    static.add_argument("--app", metavar="ADDRESS", default="", help="address of an app, to which the pages then lead")
    static.set_defaults(command=_static)
    list_ = commands.add_parser("list", help="list legal values and fields")
    list_.add_argument("what", nargs="?", choices=CATALOGUE, metavar="what", help=", ".join(CATALOGUE))
    list_.set_defaults(command=_list)
    return parser


def _add_configuration_arguments(parser: argparse.ArgumentParser) -> None:
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--arrangement", metavar="NAME", help="start from a named arrangement (see: list arrangements)")
    start.add_argument(
        "--from", dest="start", metavar="FILE|LINK", help="start from an exported configuration or a link"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE", help="set a field (see: list fields)"
    )
    parser.add_argument("--seed", metavar="N", help="seed of all random numbers")
    parser.add_argument("--force", action="store_true", help="run it even if it is over budget")


def _train(args: argparse.Namespace) -> int:
    cfg = configuration(args)
    import torch

    from models.training import Run
    from models.training.log_writer import append_to_log

    torch.set_num_threads(1)  # as in the trainer of the pages; more threads change the last digits
    run = Run(cfg)
    for path in (args.csv, args.json):
        _check_writable(path)
    log = _open_log(args.out, run) if args.out else None
    _print_heading(cfg, f"{run.parameters:,} parameters, {run.device}")
    shows_progress = args.progress or sys.stderr.isatty()
    stopped = ""
    try:
        while not run.done:
            run.advance(cfg.steps, SLICE_SECONDS)
            if log is not None:
                append_to_log(run, log)
                _check_on_disk(log)
            _draw_progress(run.step, cfg.steps, shows_progress)
    except KeyboardInterrupt:
        stopped = f"Stopped by hand after {run.step} steps."
    if shows_progress:
        print(file=sys.stderr)
    digest = f"digest {digest_of(run.trace())}" if run.step else ""
    run.close()
    if log is not None:
        append_to_log(run, log)
        _check_on_disk(log)
        print(f"log {log.folder}")
    trace = run.trace()
    if stopped:
        print(stopped)
    print("\n".join(findings(cfg, trace)))
    if digest:
        print(digest)
    _write(args.csv, trace_csv(trace))
    _write(args.json, configuration_json(cfg))
    return 130 if stopped else 0


def _signal(args: argparse.Namespace) -> int:
    cfg = configuration(args)
    _check_writable(args.csv)
    import numpy as np
    import torch

    from models.insight import signal_at_init
    from models.insight.formula import geometric_mean
    from models.insight.verdict import activation_sentence, gradient_sentence

    torch.set_num_threads(1)
    seeds = range(cfg.seed, cfg.seed + args.seeds)
    signals = signal_at_init(cfg, seeds, args.rows)
    _print_heading(cfg, f"{count_in_words(args.seeds, 'seed')}, geometric mean")
    mean_square, grad_norm = geometric_mean(signals.mean_square), geometric_mean(signals.grad_norm)
    print(f"{'site':<10}{'mean square':>14}{'gradient norm':>16}")
    for site, square, norm in zip(signals.sites, mean_square, grad_norm, strict=True):
        print(f"{site:<10}{square:>14.6g}{norm:>16.6g}")
    print(activation_sentence(signals.sites, np.sqrt(mean_square)))
    print(gradient_sentence(signals.sites, grad_norm))
    rows = [
        f"{seed},{site},{signals.mean_square[row, column]!s},{signals.grad_norm[row, column]!s}"
        for row, seed in enumerate(seeds)
        for column, site in enumerate(signals.sites)
    ]
    _write(args.csv, "\n".join(["seed,site,mean_square,grad_norm", *rows]) + "\n")
    return 0


def _open_log(folder: str, run: "Run") -> RunLog:
    """Opens the log of a run under a folder. ValueError if it cannot be written."""
    from models.training.log_writer import begin_log

    log = RunLog(folder_of(Path(folder), log_key(run.cfg)))
    begin_log(run, log)
    _check_on_disk(log)
    return log


def _check_on_disk(log: RunLog) -> None:
    """ValueError if a log could not be written; deletes the part that was."""
    if log.in_memory:
        log.delete()
        raise ValueError(f"{log.folder.parent} cannot be written: {log.disk_error}")


def newest_log(path: Path, typed: str) -> RunLog:
    """Log of the newest run of this version in `path`, a folder of runs or of one run. ValueError without one.

    `typed`: the path as the user typed it, for the error. Damaged logs are named on stderr.
    """
    names = (HEAD_FILE, ROWS_FILE, EVENTS_FILE)
    candidates = (path, *sorted(folder for folder in path.glob("*") if folder.is_dir()))
    folders = [folder for folder in candidates if any((folder / name).exists() for name in names)]
    logs: list[RunLog] = []
    damaged = 0
    for folder in folders:
        try:
            logs.append(RunLog(folder, mends=False))
        except LogDamageError as damage:
            damaged += 1
            print(f"{folder} is damaged: {damage}", file=sys.stderr)
    if damaged and not logs:
        raise ValueError(f"{typed} has no run that can be read")
    usable = [log for log in logs if log.head is not None and log.head.made_by == engine_fingerprint() and log.length]
    if not usable:
        older = f": {count_in_words(len(logs), 'run')} in it came from another version" if logs else ""
        raise ValueError(f"{typed} is neither a recording (a file that ends in .jsonl) nor a folder of runs{older}")
    return max(usable, key=lambda log: (log.folder / ROWS_FILE).stat().st_mtime)


def _app_target(path: Path, typed: str) -> tuple[dict[str, str], str]:
    """Environment variables and address of the app for a recording or a folder of runs."""
    if path.is_file() and path.suffix == ".jsonl":
        return {"PLAYGROUND_RECORDINGS": str(path.parent)}, f"recordings?{urlencode({'recording': path.name})}"
    newest = newest_log(path, typed)
    assert newest.head is not None
    return {FOLDER_VARIABLE: str(newest.folder.parent)}, f"playground?{urlencode(newest.head.query)}"


def _open(args: argparse.Namespace) -> int:
    """Starts the app, opens its address in a browser, and waits for the server to end."""
    variables, page = _app_target(Path(args.path).resolve(), args.path)
    app = Path(__file__).parents[1] / "app.py"
    flags = ("--server.headless=true", "--server.address=localhost")
    command = [sys.executable, "-m", "streamlit", "run", str(app), *flags]
    environment = os.environ | variables
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # raises, so that `finally` ends the server
    with subprocess.Popen(command, cwd=app.parent, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            for line in server.stdout:
                if match := re.search(r"https?://[\w.-]+:\d+", line):
                    address = f"{match[0]}/{page}"
                    print(address, flush=True)
                    if not args.no_browser:
                        webbrowser.open(address)
                    break
            for _ in server.stdout:
                pass
            return server.wait()
        except KeyboardInterrupt:
            return 130
        finally:
            server.terminate()


def _play(args: argparse.Namespace) -> int:
    log = newest_log(Path(args.path).resolve(), args.path)
    _check_writable(args.html)
    command = [sys.executable, "-m", "components.playground.played", str(log.folder), str(Path(args.html).resolve())]
    if subprocess.run(command, cwd=Path(__file__).parents[1], check=False).returncode:
        return 2  # it has said why
    print(args.html)
    return 0


def _static(args: argparse.Namespace) -> int:
    """Trains the nets on which the pages say what was measured; another process, with all pages, writes the folder."""
    import torch

    from models.training import Run
    from models.training.log_writer import append_to_log

    torch.set_num_threads(1)
    try:
        Path(args.folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{args.folder} cannot be written: {error.strerror}") from None
    with TemporaryDirectory() as logs:
        for cfg in RECORDED_CONFIGS:
            run = Run(cfg)
            log = _open_log(logs, run)
            while not run.done:
                run.advance(cfg.steps, SLICE_SECONDS)
                append_to_log(run, log)
                _draw_progress(run.step, cfg.steps, sys.stderr.isatty())
            run.close()
            append_to_log(run, log)
        command = [sys.executable, "-m", "pages.static", logs, str(Path(args.folder).resolve()), args.app.rstrip("/")]
        if subprocess.run(command, cwd=Path(__file__).parents[1], check=False).returncode:
            return 2  # it has said why
    print(Path(args.folder) / "index.html")
    return 0


def _list(args: argparse.Namespace) -> int:
    print(listing(args.what))
    return 0


def configuration(args: argparse.Namespace) -> RunConfig:
    """Configuration that the arguments name. ValueError with a sentence if it is illegal or over budget."""
    fields = dict(_assignment(text) for text in args.set)
    fields |= {name: text for name in ("seed", "steps") if (text := getattr(args, name, None)) is not None}
    values: dict[str, Any] = {
        name: _value(knobs()[name][0], text) for name, text in fields.items() if name != "overrides"
    }
    if args.start is None:
        cfg = RunConfig.arranged(args.arrangement or "pre-norm", **values)
    else:
        cfg = replace(_start_configuration(args.start), **values)
    if "overrides" in fields:
        cfg = replace(cfg, overrides=overrides_text.from_text(fields["overrides"], cfg.depth))
    refusal = None if args.force else budget_refusal(cfg)
    if refusal:
        raise ValueError(f"{refusal} --force runs it anyway.")
    return cfg


def _start_configuration(start: str) -> RunConfig:
    """Configuration in a file or link. ValueError if anything would have to be corrected."""
    is_link = "=" in start or start.startswith(("http://", "https://"))
    cfg, notes = configuration_from(start if is_link else command.read_text(start))
    if notes:
        raise ValueError("; ".join(notes))
    return cfg


def _assignment(text: str) -> tuple[str, str]:
    """Name and value of "field=value". ValueError without a value or for an unknown field."""
    name, sign, value = text.partition("=")
    if not sign:
        raise ValueError(f"--set {text} has no value; write --set field=value")
    if name not in knobs():
        raise ValueError(f"there is no field {name}; legal is one of {', '.join(knobs())}")
    return name, value


def _value(types: tuple[type, ...], text: str) -> object:
    """Parses a field's value; text that does not parse stays text, which the field's own check rejects."""
    if bool in types:
        return BOOLEANS.get(text.lower(), text)
    for number_type in (int, float):
        if number_type in types:
            try:
                return number_type(text)
            except ValueError:
                continue
    return text


def _print_heading(cfg: RunConfig, details: str) -> None:
    """Prints a configuration in three lines: its arrangement, its size with `details`, and its link."""
    name = arrangement_of(cfg) or "no named arrangement"
    description = f" {ARRANGEMENTS[name].description}" if name in ARRANGEMENTS else ""
    size = f"depth {cfg.depth}, width {cfg.width}, seed {cfg.seed}"
    print(f"{name}.{description}\n{cfg.net} on {cfg.task}, {size}, {details}")
    print(f"link ?{urlencode(cfg.to_query())}")


def _draw_progress(step: int, steps: int, is_shown: bool) -> None:
    if is_shown:
        filled = BAR_CHARS * step // steps
        print(f"\r[{'#' * filled}{'.' * (BAR_CHARS - filled)}] {step}/{steps} ", end="", file=sys.stderr, flush=True)


def _check_writable(path: str | None) -> None:
    """ValueError if a file cannot be written; called before training, so that no run is lost."""
    if path is None:
        return
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}") from None


def _coordinates(args: argparse.Namespace) -> int:
    cfg = configuration(args)
    checks = coordinate_check.checks_from_arguments(args, cfg)
    _check_writable(args.csv)
    print(f"link ?{urlencode(cfg.to_query())}")
    measured = [coordinate_check.measure(check, jobs=args.jobs) for check in checks]
    print("\n\n".join(map(str, measured)))
    _write(args.csv, coordinate_check.csv(measured))
    return 0


def _write(path: str | None, text: str) -> None:
    if path is None:
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        if Path(path).is_file():
            Path(path).unlink()  # half of it
        raise ValueError(f"{path} cannot be written: {error.strerror}") from None


def positive_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to 10000")
    return int(text)
