"""The cost of a map's cells: batched or one by one, and through a Dask cluster on this machine."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.report import Figure
from benchmarks.timing import interleaved_seconds, milliseconds_per_step, ratio
from models.maps import Axis, MapSpec, MapStore
from models.maps.cells import units
from models.maps.work import compute_missing
from models.spec import RunConfig
from models.training import Run
from models.training.batched import Batched

START_SECONDS = 60  # that a scheduler has to write its address
RATES = (0.001, 0.003, 0.01, 0.03)
SHAPES = {
    "MLP 16x32": RunConfig(depth=16, width=32, batch=32, steps=5000, device="cpu"),
    "MLP 64x32": RunConfig(depth=64, width=32, batch=32, steps=5000, device="cpu"),
    "transformer 6x32": RunConfig.arranged(
        "pre-norm", net="transformer", task="copy", depth=6, width=32, batch=16, steps=5000
    ),
}
MAP = MapSpec(
    Axis("batch", (8, 12, 16, 20, 24, 28)),
    Axis("depth", (4, 8, 12, 16)),
    ("pre-norm",),
    (("steps", 60), ("width", 32)),
)  # none of its cells can be batched


def maps(
    shapes: Mapping[str, RunConfig] = SHAPES, spec: MapSpec = MAP, rounds: int = 6, steps: int = 16
) -> list[Figure]:
    """The gain of batched cells, and the cost of a cell in this process and on a cluster of one worker."""
    return [*_batching_gain(shapes, rounds, steps), *_unit_costs(spec)]


def _batching_gain(shapes: Mapping[str, RunConfig], rounds: int, steps: int) -> Iterator[Figure]:
    """Time of eight runs (four learning rates, two seeds) one by one over that of one batched computation."""
    for shape, cfg in shapes.items():
        members = [replace(cfg, lr=rate, seed=seed) for rate in RATES for seed in (0, 1)]
        single_runs = [Run(member, frames=False) for member in members]
        batched = Batched(members, frames=False)

        def one_by_one(runs: list[Run] = single_runs) -> None:
            for run in runs:
                run.advance(steps)

        seconds = interleaved_seconds({"alone": one_by_one, "together": partial(batched.advance, steps)}, rounds)
        alone = milliseconds_per_step(seconds, "alone", steps) / len(members)
        together = milliseconds_per_step(seconds, "together", steps) / len(members)
        note = f"{alone:.2f} ms and {together:.2f} ms a step and run"
        gain = ratio(seconds, "alone", "together")
        yield Figure(f"{len(members)} cells one by one / as one, {shape}", gain, note=note)


def _unit_costs(spec: MapSpec) -> Iterator[Figure]:
    """Seconds that a unit computes, and the overhead of joblib and of Dask per unit."""
    count = len(units(spec))
    with tempfile.TemporaryDirectory() as folder:
        unit_seconds, overhead = _unit_seconds(MapStore(spec, Path(folder) / "here"), jobs=1)
        note = f"{count} units; joblib adds {1e3 * overhead / count:.1f} ms"
        yield Figure("unit of a map, one process", unit_seconds / count, "s", note=note)
        with cluster(Path(folder), workers=1) as address:
            list(compute_missing(MapStore(spec, Path(folder) / "warm"), scheduler=address))  # loads torch
            _, overhead = _unit_seconds(MapStore(spec, Path(folder) / "there"), scheduler=address)
            note = "client, connection and scheduler, spread over the units"
            yield Figure("what Dask adds to a unit, one worker", 1e3 * overhead / count, "ms", note=note)


def _unit_seconds(store: MapStore, **options: Any) -> tuple[float, float]:
    """Seconds that all units compute, and the remaining wall seconds. `options` go to `compute_missing`."""
    started_at = time.perf_counter()
    list(compute_missing(store, **options))
    wall = time.perf_counter() - started_at
    unit_seconds = sum(unit["seconds"] for unit in store.done().values())
    return unit_seconds, wall - unit_seconds


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[str]:
    """Runs a Dask scheduler and its workers on this machine during a `with` block. Yields the scheduler's address."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    processes: list[subprocess.Popen[bytes]] = []

    def start_dask(*arguments: str) -> None:
        command = [sys.executable, "-m", "dask", *arguments]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        processes.append(subprocess.Popen(command, cwd=Path(__file__).parents[1], env=environment, **quiet))  # type: ignore[call-overload]

    file = folder / "scheduler.json"
    start_dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    deadline = time.monotonic() + START_SECONDS
    while not (file.exists() and file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
    for _ in range(workers):
        start_dask("worker", "--scheduler-file", str(file), "--local-directory", str(folder), *options)
    try:
        yield str(json.loads(file.read_text())["address"])
    finally:
        for process in processes:
            process.kill()
            process.wait()
