"""Finished runs, signals and numbers, kept in pytest's cache until the engine, its data or its libraries change.
A test that is about training itself trains.
"""

import pickle
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from filelock import FileLock

import addnorm
from models.insight import Signal, signal_at_init
from models.runlog import fingerprint
from models.spec import RunConfig
from models.tasks.book import FILE
from models.trace import Trace
from models.training import Run, SeedRuns

Value = TypeVar("Value")
_folders: list[Path] = []  # which `keep_in` fills


def keep_in(cache: Path) -> None:
    """Keeps the runs of this engine below a folder, and removes those of others."""
    package = Path(addnorm.__file__).parent
    exhibits = [package.with_name("exhibits").rglob(f"{part}.py") for part in ("answer", "measure", "numbers")]
    sources = [*package.glob("*.py"), *FILE.parent.iterdir(), *chain(*exhibits)]
    data = [file.read_bytes() for file in sorted(sources)]
    libraries = torch.__version__, np.__version__, torch.backends.cpu.get_cpu_capability()
    folder = cache / sha256(repr((fingerprint(), libraries, data)).encode()).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    _folders[:] = [folder]
    for other in set(cache.iterdir()) - {folder}:
        shutil.rmtree(other, ignore_errors=True)


def finished(cfg: RunConfig, rows: int | None = None) -> Trace:
    """The trace of a run, or its first so many rows, with frames."""
    return finished_seeds(cfg, (cfg.seed,), rows)[0]


def finished_seeds(cfg: RunConfig, seeds: Sequence[int], rows: int | None = None) -> list[Trace]:
    """The traces of some seeds of a configuration, trained as one computation."""
    return _finished(cfg, tuple(seeds), rows or cfg.steps + 1)


@cache
def _finished(cfg: RunConfig, seeds: tuple[int, ...], rows: int) -> list[Trace]:
    def trained() -> list[Trace]:
        runs = Run(cfg) if seeds == (cfg.seed,) else SeedRuns(cfg, seeds)
        runs.advance(rows)
        traces = runs.traces()
        runs.close()
        return traces

    return list(kept((cfg.to_query(), seeds, rows), trained))


def signal(cfg: RunConfig, seeds: Sequence[int], rows: int = 256) -> Signal:
    """`signal_at_init`."""
    return kept(("signal", cfg.to_query(), tuple(seeds), rows), lambda: signal_at_init(cfg, seeds, rows))


def kept(asked: object, compute: Callable[[], Value]) -> Value:
    """What was computed for this once, by whichever session or process."""
    path = _folders[0] / sha256(repr(asked).encode()).hexdigest()
    with FileLock(f"{path}.lock"):
        if path.exists():
            return pickle.loads(path.read_bytes())  # type: ignore[no-any-return]
        value = compute()
        partial = path.with_suffix(".partial")
        partial.write_bytes(pickle.dumps(value))
        partial.replace(path)
        return value
