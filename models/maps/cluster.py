"""Computes a map's units on a Dask cluster, after checking that the cluster can."""

import logging
import sys
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import suppress
from typing import Any

from models.maps.unit import run_unit
from models.runlog import fingerprint

CONNECT_SECONDS = 10.0  # for a scheduler to answer, and for a cluster to have a worker
WORKER_CHECK_SECONDS = 1.0  # between checks that the cluster still has a worker
UnitFunction = Callable[[str, int], dict[str, Any]]  # computes a unit of a specification
START_COMMAND = "python -m dask worker {} --nthreads 1, in the project's folder"


class ClusterError(ValueError):
    """The reason why a cluster cannot compute a map, as a sentence."""


class ClusterLostError(ClusterError):
    """A scheduler that has gone while it computed."""


def run_on_cluster(
    scheduler: str, specification: str, missing: Sequence[int], run: UnitFunction = run_unit
) -> Iterator[dict[str, Any]]:
    """Computes the missing units of a specification (JSON) by `run`, and yields each result as it arrives.

    ClusterError if the scheduler cannot be reached or has no workers, if a machine cannot import this project or has
    another version of it or of torch, or if a unit fails; ClusterLostError if the scheduler goes.
    """
    lost = ClusterLostError(f"The scheduler {scheduler} is gone. What was done before is kept.")
    client = _client(scheduler)
    for name in ("asyncio", *logging.root.manager.loggerDict):  # they would print tracebacks about a lost scheduler
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield from _results(client, scheduler, specification, missing, run)
    except ClusterError as error:
        raise (lost if client.status != "running" else error) from None
    except (OSError, CancelledError, futures.CancelledError, RuntimeError):
        raise lost from None
    finally:
        with suppress(Exception):  # there is nobody to take leave of
            client.close(timeout=WORKER_CHECK_SECONDS)


def _results(
    client: Any, scheduler: str, specification: str, missing: Sequence[int], run: UnitFunction
) -> Iterator[dict[str, Any]]:
    """Computes the missing units on a connected cluster."""
    _check_versions(client, scheduler)
    from distributed import wait

    pending = set(client.map(run, [specification] * len(missing), missing, pure=False))
    while pending:
        try:
            done = wait(pending, timeout=WORKER_CHECK_SECONDS, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            _await_worker(client, scheduler)
            continue
        pending -= done
        for future in done:
            if future.status in ("cancelled", "lost"):
                raise CancelledError
            if future.status != "finished":
                error = future.exception() if future.status == "error" else None
                raise ClusterError(f"The cluster {scheduler} failed at a unit: {_first_line(error) or future.status}.")
            try:
                result = future.result(timeout=WORKER_CHECK_SECONDS)
            except TimeoutError:  # the worker and its result are lost: compute the unit again
                pending.add(future)
                _await_worker(client, scheduler)
                continue
            yield result


def _client(scheduler: str) -> Any:
    """Connection to a Dask scheduler."""
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError("A cluster needs dask: pip install -r requirements-cluster.txt.") from None
    try:
        return Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=True)
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(f"The scheduler {scheduler} cannot be reached ({_first_line(error)[:120]}).") from None


def _check_versions(client: Any, scheduler: str) -> None:
    """ClusterError unless scheduler and workers, which all unpickle tasks, have this machine's versions."""
    import cloudpickle

    _await_worker(client, scheduler)
    here = sys.modules[__name__]
    # Sends the code of `_fingerprint`, because the project may be missing on the cluster.
    cloudpickle.register_pickle_by_value(here)
    try:
        answers = {scheduler: client.run_on_scheduler(_fingerprint)} | client.run(_fingerprint, on_error="return")
    except Exception as error:
        raise ClusterError(f"The cluster {scheduler} does not answer ({_first_line(error)[:120]}).") from None
    finally:
        cloudpickle.unregister_pickle_by_value(here)
    ours = fingerprint()
    for address, theirs in answers.items():
        name = "The scheduler" if address == scheduler else "The worker"
        if isinstance(theirs, BaseException) or "problem" in theirs:
            problem = _first_line(theirs) if isinstance(theirs, BaseException) else theirs["problem"]
            raise ClusterError(
                f"{name} {address} cannot import this project ({problem[:120]}): start it with python -m dask, in the "
                f"project's folder."
            )
        for package, version in ours.items():
            if theirs.get(package) != version:
                raise ClusterError(f"{name} {address} has {package} {theirs.get(package)}, this machine has {version}.")


def _await_worker(client: Any, scheduler: str) -> None:
    """Waits for a worker; ClusterError after CONNECT_SECONDS."""
    deadline = time.monotonic() + CONNECT_SECONDS
    while not client.scheduler_info(n_workers=1).get("workers"):
        if time.monotonic() > deadline:
            raise ClusterError(
                f"The scheduler {scheduler} has no workers: start one with {START_COMMAND.format(scheduler)}."
            )
        time.sleep(0.1)


def _fingerprint() -> dict[str, str]:
    """Runs on the cluster: the versions there, or {"problem": ...} if the project cannot be imported."""
    try:
        from models.runlog import fingerprint

        return fingerprint()
    except Exception as error:
        return {"problem": f"{type(error).__name__}: {error}"}


def _first_line(error: BaseException | None) -> str:
    """First line of an error's message, or its type if it has none; empty without an error."""
    if error is None:
        return ""
    lines = str(error).splitlines() or [""]
    return lines[0] or type(error).__name__
