"""Runs what is missing of a map: in this machine's processes through joblib, or on a Dask cluster.

Scheduling, transport and retries are theirs. MAPS_SCHEDULER names a cluster (tcp://host:port).
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from models.maps.cluster import on_cluster
from models.maps.store import MapStore
from models.maps.unit import run_unit
from models.spec.limits import LIMITS

SCHEDULER = "MAPS_SCHEDULER"
IDLE_SECONDS = 10  # after which a worker without work ends by itself
ORPHAN_SECONDS = 0.5  # between two looks of a worker whether whoever started it still lives


def own_jobs() -> int:
    """Processes on this machine: all cores but one, so that
    whoever uses it stays quick, or fewer where that is the limit.
    """
    return max(1, min(len(_cores()) - 1, LIMITS.map_processes))


def work(store: MapStore, *, scheduler: str = "", jobs: int = 0) -> Iterator[dict[str, Any]]:
    """Computes every missing unit and keeps it; yields each as it is kept, in whatever order they end.

    ValueError in a sentence where another process has the map or the cluster cannot compute it (ClusterError); OSError
    where the disk does not take it.
    """
    with store.writing():
        missing, text = store.missing(), store.spec.to_json()
        if not missing:
            return
        results = on_cluster(scheduler, text, missing) if scheduler else _here(text, missing, jobs or own_jobs())
        for kept in results:
            store.add(kept)
            yield kept


def _here(text: str, missing: Sequence[int], jobs: int) -> Iterator[dict[str, Any]]:
    from joblib import Parallel, delayed, parallel_config

    own = {"idle_worker_timeout": IDLE_SECONDS, "initializer": _end_with, "initargs": (os.getpid(),)}
    with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1, **own):
        yield from Parallel(batch_size=1, return_as="generator_unordered")(
            delayed(run_unit)(text, at) for at in missing
        )


def _end_with(parent: int) -> None:
    """In a worker: ends it, whatever it computes, once the process that started it has been killed.

    loky waits for 40 s, and so it does on Windows, where nobody is told of it.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHAN_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _cores() -> set[int]:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))
