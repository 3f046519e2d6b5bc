"""Computes what is missing of a map, in processes on this machine (joblib) or on a Dask cluster.

Both do their own scheduling, transport and retries. MAPS_SCHEDULER names a cluster (tcp://host:port).
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from models.maps.cluster import Run, on_cluster
from models.maps.store import MapStore
from models.maps.unit import run_unit
from models.spec.limits import LIMITS

SCHEDULER = "MAPS_SCHEDULER"
IDLE_SECONDS = 10  # after which an idle worker ends by itself
ORPHAN_SECONDS = 0.5  # between a worker's checks that its parent is still alive


def own_jobs() -> int:
    """The number of processes on this machine: all cores but one, which stays free for its user, or the limit."""
    return max(1, min(len(_cores()) - 1, LIMITS.map_processes))


def work(
    store: MapStore, *, scheduler: str = "", jobs: int = 0, enough: Callable[[], bool] = lambda: False
) -> Iterator[dict[str, Any]]:
    """Computes and stores every missing unit, and yields each when it is stored. On this machine no unit is begun once
    it is `enough`.

    ValueError with a sentence if another process has the map or the cluster cannot compute it (ClusterError); OSError
    if a result cannot be written.
    """
    with store.writing():
        missing, text = store.missing(), store.spec.to_json()
        if not missing:
            return
        for unit in shared(text, missing, scheduler=scheduler, jobs=jobs, enough=enough):
            store.add(unit)
            yield unit


def shared(
    text: str,
    missing: Sequence[int],
    run: Run = run_unit,
    *,
    scheduler: str = "",
    jobs: int = 0,
    enough: Callable[[], bool] = lambda: False,
) -> Iterator[dict[str, Any]]:
    """Computes missing units of a specification (its JSON) by `run`, here or on a cluster; yields each as it ends."""
    if scheduler:
        return on_cluster(scheduler, text, missing, run)
    return _here(text, missing, run, jobs or own_jobs(), enough)


def _here(
    text: str, missing: Sequence[int], run: Run, jobs: int, enough: Callable[[], bool]
) -> Iterator[dict[str, Any]]:
    from joblib import Parallel, delayed, parallel_config

    options = {"idle_worker_timeout": IDLE_SECONDS, "initializer": _end_with, "initargs": (os.getpid(),)}
    with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1, **options):
        # Without more in advance than there are processes, for what is given out is computed.
        yield from Parallel(batch_size=1, pre_dispatch="n_jobs", return_as="generator_unordered")(
            delayed(run)(text, at) for at in missing if not enough()
        )


def _end_with(parent: int) -> None:
    """Ends a worker, whatever it computes, once its parent process has been killed.

    loky alone takes 40 s. On Windows, where a process keeps its parent's id, it still does.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHAN_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _cores() -> set[int]:
    """The CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))
