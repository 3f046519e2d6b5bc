"""`python -m models map`: computes a map from its specification, keeps every finished unit, and writes the table."""

import argparse
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

from models.maps.cells import refused, units
from models.maps.cluster import ClusterError
from models.maps.spec import MapSpec
from models.maps.store import MapStore
from models.maps.table import frame_of
from models.maps.work import SCHEDULER, own_jobs, work
from models.spec.budget import this_machine

ENDED = 143  # the exit code after SIGTERM
NICENESS = 10
KILL_SECONDS = 1.5


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument("spec", metavar="SPEC.json", help="the specification of the map")
    parser.add_argument("--out", metavar="PATH", help="write one row per run: .csv or .parquet")
    parser.add_argument(
        "--folder", metavar="PATH", help="where maps are kept (default: MAPS_FOLDER, or the user's cache)"
    )
    parser.add_argument("--fresh", action="store_true", help="forget what is done of this map; otherwise it is resumed")
    parser.add_argument(
        "--jobs", type=int, default=0, metavar="N", help="processes on this machine (default: cores less one)"
    )
    parser.add_argument("--fall-back", action="store_true", help="compute here if the cluster cannot")
    parser.add_argument("--force", action="store_true", help="run it even where it is over budget")
    parser.add_argument(
        "--attached",
        action="store_true",
        help="end when stdin does, and after the units in progress when it says anything: for a program that starts "
        "this one",
    )


def run(given: argparse.Namespace) -> int:
    """Computes the map and writes it; returns the exit code. ValueError with a sentence for bad input."""
    spec = MapSpec.from_json(read_text(given.spec))
    scheduler = os.environ.get(SCHEDULER, "")
    alone = not scheduler or given.fall_back
    if not given.force and (refusal := refused(spec, this_machine(), cluster=not alone)):
        raise ValueError(
            refusal if "not a legal configuration" in refusal else f"{refusal} --force runs it all the same."
        )
    _check_out(given.out)
    if not 0 <= given.jobs <= 256:
        raise ValueError(f"--jobs is {given.jobs}; legal is 1 to 256")
    store, enough = MapStore(spec, Path(given.folder) if given.folder else None), threading.Event()
    signal.signal(signal.SIGTERM, _end)
    if given.attached:
        if hasattr(os, "nice"):
            os.nice(NICENESS)  # the processes of the work inherit it
        threading.Thread(target=_heed_stdin, args=(enough,), daemon=True).start()
    try:
        if given.fresh:
            store.forget()
        stopped = _compute(store, scheduler, given, enough)
        if given.out:
            _write(store, given.out)
    except OSError as error:
        raise ValueError(
            f"{store.path} cannot be written: {error.strerror or error}. What was done before is kept."
        ) from None
    print(f"{len(store.outcomes())} of {spec.runs} runs are kept in {store.path}")
    return 130 if stopped else 0


def _compute(store: MapStore, scheduler: str, given: argparse.Namespace, enough: threading.Event) -> bool:
    """Computes what is missing; returns whether it was stopped by hand."""
    try:
        return _watched(store, scheduler, given.jobs, enough)
    except ClusterError as problem:
        if not given.fall_back:
            raise
        print(f"{problem} Computing on this machine instead.", file=sys.stderr)
        return _watched(store, "", given.jobs, enough)


def _watched(store: MapStore, scheduler: str, jobs: int, enough: threading.Event) -> bool:
    """Computes what is missing, with progress on stderr: runs done, and the time left at this pace."""
    every = units(store.spec)
    costs = {at: unit.seconds(this_machine()) for at, unit in enumerate(every)}
    total, done = store.spec.runs, sum(len(every[at]) for at in store.done())
    open_cost, began, finished = sum(costs[at] for at in store.missing()), time.monotonic(), 0.0
    where = f"on {scheduler}" if scheduler else f"in {jobs or own_jobs()} processes"
    print(f"{done} of {total} runs are done; the rest {where}", file=sys.stderr)
    try:
        for unit in work(store, scheduler=scheduler, jobs=jobs, enough=enough.is_set):
            done += len(unit["runs"])
            finished += costs[unit["unit"]]
            left = (time.monotonic() - began) / finished * (open_cost - finished)
            print(f"\r{done}/{total} runs, {left:.0f} s left   ", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"\nStopped by hand after {done} of {total} runs; the same command goes on from there.", file=sys.stderr)
        return True
    print(file=sys.stderr)
    return False


def read_text(path: str) -> str:
    """The text of a file. ValueError with a sentence if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}") from None


def _check_out(path: str | None) -> None:
    if path is None:
        return
    if Path(path).suffix not in (".csv", ".parquet"):
        raise ValueError(f"--out is {path}; legal is a name that ends in .csv or .parquet")
    if not Path(path).absolute().parent.is_dir():
        raise ValueError(f"--out is {path}; there is no such folder")


def _write(store: MapStore, path: str) -> None:
    frame = frame_of(store.spec, store.outcomes())
    if path.endswith(".parquet"):
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Ends this process and its workers at once; finished units are on the disk."""
    from joblib.externals.loky import reusable_executor

    if (executor := reusable_executor._executor) is not None:
        # A thread of the executor kills the workers: it must not be cut short, and must not hang this process.
        killer = threading.Thread(target=executor.shutdown, kwargs={"wait": True, "kill_workers": True}, daemon=True)
        killer.start()
        killer.join(KILL_SECONDS)
    os._exit(ENDED)


def _heed_stdin(enough: threading.Event) -> None:
    """Says that it is enough once there is anything on stdin, and ends this process with the one that started it."""
    while os.read(0, 4096):  # not sys.stdin: this thread would still hold its lock at the end
        enough.set()
    os.kill(os.getpid(), signal.SIGTERM)
