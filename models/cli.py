"""The command line: train a run, measure the signal at initialisation, compute a map, with the numbers of the pages.

Exit code 2 and one sentence on stderr for bad input; torch is loaded only for what computes.
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
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from addnorm.__main__ import Parser
from models.catalogue import CATALOGUE, listing
from models.export import configuration_from, configuration_json, digest_of, findings, trace_csv
from models.insight.words import count_in_words
from models.maps import command
from models.maps import coordinates as coordinate_check
from models.runlog import HEAD, ROWS, RunLog, engine_fingerprint, folder_of
from models.service.messages import log_key
from models.service.runs import FOLDER_VARIABLE
from models.spec import ARRANGEMENTS, RunConfig, arrangement_of, knobs
from models.spec import overrides as overrides_text
from models.spec.budget import budget_refusal
from models.spec.query import BOOLEANS

if TYPE_CHECKING:
    from models.training import Run

BAR = 30  # characters of the progress bar
SLICE_SECONDS = 0.2  # between updates of the progress bar


def main(add_arguments: Sequence[str]) -> int:
    """Runs a command; returns the exit code."""
    parser = _parser()
    args = parser.parse_args(add_arguments)
    try:
        return int(args.command(args))
    except ValueError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> Parser:
    parser = Parser(prog="python -m models", description="Residual connections and normalisation, measured.")
    commands = parser.add_subparsers(required=True, metavar="command")
    train = commands.add_parser("train", help="train one configuration and say what came of it")
    _configuration_arguments(train)
    train.add_argument("--steps", metavar="N", help="length of the run")
    train.add_argument("--csv", metavar="PATH", help="write the log, one row per step and site")
    train.add_argument("--json", metavar="PATH", help="write the configuration")
    train.add_argument("--out", metavar="DIR", help="keep the run's log in this folder, which `open` shows in the app")
    train.add_argument("--progress", action="store_true", help="draw the progress bar even where stderr is no terminal")
    train.set_defaults(command=_train)
    signal = commands.add_parser("signal", help="activation and gradient at initialisation, on Gaussian input")
    _configuration_arguments(signal)
    signal.add_argument("--seeds", type=_count, default=2, metavar="N", help="seeds to average over (default 2)")
    signal.add_argument("--rows", type=_count, default=256, metavar="N", help="tokens to feed in (default 256)")
    signal.add_argument("--csv", metavar="PATH", help="write one row per seed and site")
    signal.set_defaults(command=_signal)
    map_ = commands.add_parser("map", help="compute a map from its specification; what is done is kept and resumed")
    command.add_arguments(map_)
    map_.set_defaults(command=command.run)
    check = commands.add_parser(
        "coordinates", help="sizes of all sites and logits over width or depth, before and after the first updates"
    )
    _configuration_arguments(check)
    coordinate_check.add_arguments(check)
    check.set_defaults(command=_coordinates)
    open_ = commands.add_parser(
        "open", help="start the app on a recording of your own model, which may still be growing, or on a kept run"
    )
    open_.add_argument("path", help="a file that ends in .jsonl, or a folder that `train --out` has written to")
    open_.add_argument("--no-browser", action="store_true", help="print the address and open nothing")
    open_.set_defaults(command=_open)
    play = commands.add_parser("play", help="write a kept run as one HTML page that plays without a server")
    play.add_argument("path", help="a folder that `train --out` has written to; of several runs in it, the newest")
    play.add_argument("--html", metavar="PATH", default="run.html", help="the page (default run.html)")
    play.set_defaults(command=_play)
    list_ = commands.add_parser("list", help="what there is to choose from")
    list_.add_argument("what", nargs="?", choices=CATALOGUE, metavar="what", help=", ".join(CATALOGUE))
    list_.set_defaults(command=_list)
    return parser


def _configuration_arguments(parser: argparse.ArgumentParser) -> None:
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--arrangement", metavar="NAME", help="start from a named arrangement (see: list arrangements)")
    start.add_argument(
        "--from", dest="start", metavar="FILE|LINK", help="start from an exported configuration or a link"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE", help="set a field (see: list fields)"
    )
    parser.add_argument("--seed", metavar="N", help="decides every random number")
    parser.add_argument("--force", action="store_true", help="run it even where it is over budget")


def _train(args: argparse.Namespace) -> int:
    cfg = configuration(args)
    import torch

    from models.training import Run
    from models.training.log_writer import append_to_log

    torch.set_num_threads(1)  # like the trainer of the pages: with more, the last digits differ
    run = Run(cfg)
    for path in (args.csv, args.json):
        _check_writable(path)
    log = _log(args.out, run) if args.out else None
    _say(cfg, f"{run.parameters:,} parameters, {run.device}")
    showing = args.progress or sys.stderr.isatty()
    stopped = ""
    try:
        while not run.done:
            run.advance(cfg.steps, SLICE_SECONDS)
            if log is not None:
                append_to_log(run, log)
            _bar(run.step, cfg.steps, showing)
    except KeyboardInterrupt:
        stopped = f"Stopped by hand after {run.step} steps."
    if showing:
        print(file=sys.stderr)
    digest = f"digest {digest_of(run.trace())}" if run.step else ""
    run.close()
    if log is not None:
        append_to_log(run, log)
        print(f"log {log.folder}")
    trace = run.trace()
    print("\n".join([stopped] * bool(stopped) + findings(cfg, trace)))
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
    _say(cfg, f"{count_in_words(args.seeds, 'seed')}, geometric mean")
    mean_square, grad_norm = geometric_mean(signals.mean_square), geometric_mean(signals.grad_norm)
    print(f"{'site':<10}{'mean square':>14}{'gradient norm':>16}")
    for site, square, norm in zip(signals.sites, mean_square, grad_norm, strict=True):
        print(f"{site:<10}{square:>14.6g}{norm:>16.6g}")
    print(activation_sentence(signals.sites, np.sqrt(mean_square)))
    print(gradient_sentence(signals.sites, grad_norm))
    rows = [
        f"{seed},{site},{signals.mean_square[row, at]!s},{signals.grad_norm[row, at]!s}"
        for row, seed in enumerate(seeds)
        for at, site in enumerate(signals.sites)
    ]
    _write(args.csv, "\n".join(["seed,site,mean_square,grad_norm", *rows]) + "\n")
    return 0


def _log(folder: str, run: "Run") -> RunLog:
    """The log of a run in a folder. ValueError if it cannot be written."""
    from models.training.log_writer import begin_log

    try:
        log = RunLog(folder_of(Path(folder), log_key(run.cfg)))
        begin_log(run, log)
    except OSError as error:
        raise ValueError(f"{folder} cannot be written: {error.strerror}") from None
    return log


def _newest(path: Path, args: str) -> RunLog:
    """The newest run in a folder, or the run whose own folder it is. ValueError if there is none of this version."""
    logs = [RunLog(head.parent) for head in (*path.glob(HEAD), *path.glob(f"*/{HEAD}"))]
    known = [log for log in logs if log.head is not None and log.head.made_by == engine_fingerprint() and log.length]
    if not known:
        older = f": {count_in_words(len(logs), 'run')} in it came from another version" if logs else ""
        raise ValueError(f"{args} is neither a recording (a file that ends in .jsonl) nor a folder of runs{older}")
    return max(known, key=lambda log: (log.folder / ROWS).stat().st_mtime)


def _shown(path: Path, args: str) -> tuple[dict[str, str], str]:
    """What the app is told of a recording or of a folder of runs, and the page's address below the server's."""
    if path.is_file() and path.suffix == ".jsonl":
        return {"PLAYGROUND_RECORDINGS": str(path.parent)}, f"recordings?{urlencode({'recording': path.name})}"
    newest = _newest(path, args)
    assert newest.head is not None
    return {FOLDER_VARIABLE: str(newest.folder.parent)}, f"playground?{urlencode(newest.head.query)}"


def _open(args: argparse.Namespace) -> int:
    message, page = _shown(Path(args.path).resolve(), args.path)
    app = Path(__file__).parents[1] / "app.py"
    flags = ("--server.headless=true", "--server.address=localhost")
    command = [sys.executable, "-m", "streamlit", "run", str(app), *flags]
    environment = os.environ | message
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `finally` ends the server too
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
    log = _newest(Path(args.path).resolve(), args.path)
    _check_writable(args.html)
    command = [sys.executable, "-m", "components.playground.played", str(log.folder), str(Path(args.html).resolve())]
    subprocess.run(command, cwd=Path(__file__).parents[1], check=True)
    print(args.html)
    return 0


def _list(args: argparse.Namespace) -> int:
    print(listing(args.what))
    return 0


def configuration(args: argparse.Namespace) -> RunConfig:
    """The configuration that the arguments name. ValueError with a sentence if it is illegal or over budget."""
    fields = dict(_assignment(text) for text in args.set)
    fields |= {name: text for name in ("seed", "steps") if (text := getattr(args, name, None)) is not None}
    # Text that cannot be parsed is left to the field's own check.
    values: dict[str, Any] = {
        name: _value(knobs()[name][0], text) for name, text in fields.items() if name != "overrides"
    }
    if args.start is None:
        cfg = RunConfig.arranged(args.arrangement or "pre-norm", **values)
    else:
        cfg = replace(_started(args.start), **values)
    if "overrides" in fields:
        cfg = replace(cfg, overrides=overrides_text.from_text(fields["overrides"], cfg.depth))
    refusal = None if args.force else budget_refusal(cfg)
    if refusal:
        raise ValueError(f"{refusal} --force runs it all the same.")
    return cfg


def _started(start: str) -> RunConfig:
    """The configuration in a file or a link, refused if anything had to be changed."""
    is_link = "=" in start or start.startswith(("http://", "https://"))
    cfg, notes = configuration_from(start if is_link else command.read_text(start))
    if notes:
        raise ValueError("; ".join(notes))
    return cfg


def _assignment(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise ValueError(f"--set {text} has no value; write --set field=value")
    if name not in knobs():
        raise ValueError(f"there is no field {name}; legal is one of {', '.join(knobs())}")
    return name, value


def _value(kinds: tuple[type, ...], text: str) -> object:
    if bool in kinds:
        return BOOLEANS.get(text.lower(), text)
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                continue
    return text


def _say(cfg: RunConfig, more: str) -> None:
    name = arrangement_of(cfg) or "no named arrangement"
    reading = f" {ARRANGEMENTS[name].description}" if name in ARRANGEMENTS else ""
    print(f"{name}.{reading}\n{cfg.net} on {cfg.task}, depth {cfg.depth}, width {cfg.width}, seed {cfg.seed}, {more}")
    print(f"link ?{urlencode(cfg.to_query())}")


def _bar(step: int, steps: int, showing: bool) -> None:
    if showing:
        done = BAR * step // steps
        print(f"\r[{'#' * done}{'.' * (BAR - done)}] {step}/{steps} ", end="", file=sys.stderr, flush=True)


def _check_writable(path: str | None) -> None:
    """Fails before anything is trained: a file that cannot be written must not cost a run."""
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
    if path:
        Path(path).write_text(text, encoding="utf-8")


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to 10000")
    return int(text)
