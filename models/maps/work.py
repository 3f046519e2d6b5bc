"""Computes the missing units of a map, in processes on this machine (joblib) or on a Dask cluster.

Both do their own scheduling, transport and retries. $MAPS_SCHEDULER names a cluster (tcp://host:port).
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from models.maps.cluster import UnitFunction, run_on_cluster
from models.maps.store import MapStore
from models.maps.unit import run_unit
from models.spec.limits import LIMITS

SCHEDULER = "MAPS_SCHEDULER"  # environment variable: address of the scheduler
IDLE_SECONDS = 10  # until an idle worker exits
ORPHAN_SECONDS = 0.5  # between a worker's checks that its parent is alive


def default_jobs() -> int:
    """Default number of worker processes: all cores but one, at most the configured limit."""
    return max(1, min(len(_usable_cores()) - 1, LIMITS.map_processes))


def compute_missing(
    store: MapStore, *, scheduler: str = "", jobs: int = 0, should_stop: Callable[[], bool] = lambda: False
) -> Iterator[dict[str, Any]]:
    """Computes and stores all missing units, and yields each after storing it.

    `should_stop`: once True, this machine starts no further units. ValueError with a sentence if another process
    computes the map or the cluster cannot (ClusterError); OSError if a result cannot be written.
    """
    with store.writing():
        missing, text = store.missing(), store.spec.to_json()
        if not missing:
            return
        for unit in compute_units(text, missing, scheduler=scheduler, jobs=jobs, should_stop=should_stop):
            store.add(unit)
            yield unit


def compute_units(
    text: str,
    missing: Sequence[int],
    run: UnitFunction = run_unit,
    *,
    scheduler: str = "",
    jobs: int = 0,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[dict[str, Any]]:
    """Computes missing units of a specification (JSON) by `run`, here or on a cluster; yields each result."""
    if scheduler:
        return run_on_cluster(scheduler, text, missing, run)
    return _compute_locally(text, missing, run, jobs or default_jobs(), should_stop)


def _compute_locally(
    text: str, missing: Sequence[int], run: UnitFunction, jobs: int, should_stop: Callable[[], bool]
) -> Iterator[dict[str, Any]]:
    from joblib import Parallel, delayed, parallel_config

    options = {"idle_worker_timeout": IDLE_SECONDS, "initializer": _exit_with_parent, "initargs": (os.getpid(),)}
    with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1, **options):
        # Dispatch no more units than there are processes, because dispatched units cannot be cancelled.
        yield from Parallel(batch_size=1, pre_dispatch="n_jobs", return_as="generator_unordered")(
            delayed(run)(text, index) for index in missing if not should_stop()
        )


def _exit_with_parent(parent: int) -> None:
    """Ends a worker, even while it computes, once its parent process has been killed.

    loky alone takes 40 s, and still does on Windows, where a process keeps its parent's id.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHAN_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _usable_cores() -> set[int]:
    """CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))
