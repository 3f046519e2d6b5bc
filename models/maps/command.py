"""`python -m models map`: computes a map from its specification, stores finished units, and writes a table."""

import argparse
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

from models.maps.cells import refusal_reason, units
from models.maps.cluster import ClusterError, ClusterLostError
from models.maps.spec import MapSpec
from models.maps.store import MapStore
from models.maps.table import frame_of
from models.maps.work import SCHEDULER, compute_missing, default_jobs
from models.spec.budget import this_machine

LOST_EXIT_CODE = 1  # the cluster has gone
SIGINT_EXIT_CODE = 130
SIGTERM_EXIT_CODE = 143
NICENESS = 10
KILL_SECONDS = 1.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", metavar="SPEC.json", help="the specification of the map")
    parser.add_argument("--out", metavar="PATH", help="write one row per run: .csv or .parquet")
    parser.add_argument(
        "--folder", metavar="PATH", help="folder of stored maps (default: MAPS_FOLDER, or the user's cache)"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="discard stored results of this map; by default it is resumed"
    )
    parser.add_argument(
        "--jobs", type=int, default=0, metavar="N", help="processes on this machine (default: cores less one)"
    )
    parser.add_argument("--fall-back", action="store_true", help="compute on this machine if the cluster cannot")
    parser.add_argument("--force", action="store_true", help="run it even if it is over budget")
    parser.add_argument(
        "--attached",
        action="store_true",
        help="for use by a parent process: exit when stdin closes; on any input, exit after the units in progress",
    )


def run(args: argparse.Namespace) -> int:
    """Computes the map, writes the table and returns the exit code. ValueError with a sentence for bad input."""
    spec = MapSpec.from_json(read_text(args.spec))
    scheduler = os.environ.get(SCHEDULER, "")
    runs_here = not scheduler or args.fall_back
    if not args.force and (refusal := refusal_reason(spec, this_machine(), cluster=not runs_here)):
        raise ValueError(refusal if "not a legal configuration" in refusal else f"{refusal} --force runs it anyway.")
    _check_output_path(args.out)
    if not 0 <= args.jobs <= 256:
        raise ValueError(f"--jobs is {args.jobs}; legal is 1 to 256")
    store = MapStore(spec, Path(args.folder) if args.folder else None)
    should_stop = threading.Event()
    signal.signal(signal.SIGTERM, _terminate)
    if args.attached:
        if hasattr(os, "nice"):
            os.nice(NICENESS)  # inherited by the worker processes
        threading.Thread(target=_follow_stdin, args=(should_stop,), daemon=True).start()
    try:
        if args.fresh:
            store.delete_results()
        stopped = _compute(store, scheduler, args, should_stop)
        if args.out:
            _write(store, args.out)
    except ClusterLostError as problem:
        print(f"\n{problem} The same command resumes it.", file=sys.stderr)
        return LOST_EXIT_CODE
    except OSError as error:
        raise ValueError(
            f"{store.path} cannot be written: {error.strerror or error}. What was done before is kept."
        ) from None
    print(f"{len(store.outcomes())} of {spec.runs} runs are kept in {store.path}")
    return SIGINT_EXIT_CODE if stopped else 0


def _compute(store: MapStore, scheduler: str, args: argparse.Namespace, should_stop: threading.Event) -> bool:
    """Computes the missing units; returns whether the user interrupted it."""
    try:
        return _compute_with_progress(store, scheduler, args.jobs, should_stop)
    except ClusterError as problem:
        if not args.fall_back:
            raise
        print(f"{problem} Computing on this machine instead.", file=sys.stderr)
        return _compute_with_progress(store, "", args.jobs, should_stop)


def _compute_with_progress(store: MapStore, scheduler: str, jobs: int, should_stop: threading.Event) -> bool:
    """Computes the missing units with progress on stderr; returns whether the user interrupted it."""
    all_units = units(store.spec)
    estimated_seconds = {index: unit.seconds(this_machine()) for index, unit in enumerate(all_units)}
    total = store.spec.runs
    done = sum(len(all_units[index]) for index in store.done())
    missing_seconds = sum(estimated_seconds[index] for index in store.missing())
    finished_seconds = 0.0
    began = time.monotonic()
    where = f"on {scheduler}" if scheduler else f"in {jobs or default_jobs()} processes"
    print(f"{done} of {total} runs are done; the rest {where}", file=sys.stderr)
    try:
        for unit in compute_missing(store, scheduler=scheduler, jobs=jobs, should_stop=should_stop.is_set):
            done += len(unit["runs"])
            finished_seconds += estimated_seconds[unit["unit"]]
            elapsed_seconds = time.monotonic() - began
            seconds_left = elapsed_seconds / finished_seconds * (missing_seconds - finished_seconds)
            print(f"\r{done}/{total} runs, {seconds_left:.0f} s left   ", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"\nStopped by hand after {done} of {total} runs; the same command resumes it.", file=sys.stderr)
        return True
    print(file=sys.stderr)
    return False


def read_text(path: str) -> str:
    """Text of a file. ValueError with a sentence if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}") from None


def _check_output_path(path: str | None) -> None:
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


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Signal handler: ends this process and its workers at once; finished units are on disk."""
    from joblib.externals.loky import reusable_executor

    if (executor := reusable_executor._executor) is not None:
        # Killing the workers must neither be cut short nor hang this process, hence a thread with a timeout.
        killer = threading.Thread(target=executor.shutdown, kwargs={"wait": True, "kill_workers": True}, daemon=True)
        killer.start()
        killer.join(KILL_SECONDS)
    os._exit(SIGTERM_EXIT_CODE)


def _follow_stdin(should_stop: threading.Event) -> None:
    """Sets `should_stop` on any input, and terminates this process when its parent closes stdin."""
    while os.read(0, 4096):  # not sys.stdin, whose lock this thread would hold at exit
        should_stop.set()
    os.kill(os.getpid(), signal.SIGTERM)
