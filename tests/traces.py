"""Finished runs that several tests look at: each is trained once a
session, by whichever of its processes asks first. A test that is about training itself trains.
"""

import hashlib
import pickle
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from filelock import FileLock

from models.runlog import fingerprint
from models.spec import RunConfig
from models.trace import Trace
from models.training import Run, SeedRuns

folder = Path()  # what the processes of a session share; the session sets it


def finished(cfg: RunConfig, rows: int | None = None) -> Trace:
    """The trace of a run, or its first so many rows, with frames."""
    return finished_seeds(cfg, (cfg.seed,), rows)[0]


def finished_seeds(cfg: RunConfig, seeds: Sequence[int], rows: int | None = None) -> list[Trace]:
    """The traces of some seeds of a configuration, trained as one computation."""
    return _finished(cfg, tuple(seeds), rows or cfg.steps + 1)


@cache
def _finished(cfg: RunConfig, seeds: tuple[int, ...], rows: int) -> list[Trace]:
    asked = repr((_engine(), cfg.to_query(), seeds, rows))
    path = folder / hashlib.sha256(asked.encode()).hexdigest()
    with FileLock(f"{path}.lock"):
        if not path.exists():
            runs = Run(cfg) if seeds == (cfg.seed,) else SeedRuns(cfg, seeds)
            runs.advance(rows)
            traces = runs.traces()
            runs.close()
            path.write_bytes(pickle.dumps(traces))
            return traces
    return list(pickle.loads(path.read_bytes()))


@cache
def _engine() -> dict[str, str]:
    return fingerprint()
