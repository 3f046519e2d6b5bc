"""The log of a run as pages read it, the requests for more rows, and its error. No torch; many threads read."""

import time
from collections import deque
from pathlib import Path

from models.runlog import LogHead, RunLog, folder_of
from models.service.demand import Demand, RowRequest
from models.service.messages import unpacked
from models.service.wire import Message
from models.spec import RunConfig

# Memory by tracemalloc:
LOG_BYTES = 4096
CONFIG_BYTES = 2000
OVERRIDE_BYTES = 120  # each override of a configuration
RATE_SECONDS = 2.0  # over which the rows per second are averaged
RETRY_SECONDS = 10.0  # after an error


class RequestedLog(RunLog):
    """The log of a run, of one or several seeds that are computed together. `runs`: the folder of run logs.

    `sent_requests`: the requests last sent to the worker. `size`: its bytes of memory without rows and events.
    """

    def __init__(self, cfg: RunConfig, key: str, seeds: int, runs: Path) -> None:
        super().__init__(folder_of(runs, key))
        self.cfg, self.key, self.seeds = cfg, key, seeds
        self.error = ""
        self.deaths = 0
        self.sent_requests: tuple[RowRequest, ...] = ()
        self.demand = Demand()
        self.size = LOG_BYTES + CONFIG_BYTES + OVERRIDE_BYTES * len(cfg.overrides) + len(key)
        self._worker_lacks_rows = False  # the worker has fewer rows than this log
        self._error_at = 0.0
        self._arrivals: deque[tuple[float, int]] = deque()
        self._progress_began_at = 0.0

    @property
    def is_requested(self) -> bool:
        """Whether somebody requests rows that the log lacks."""
        return not self.done and any(request.until > self.length for request in self.demand.requests)

    @property
    def is_recomputing(self) -> bool:
        """Whether the worker, restarted after it died, computes rows again that this log already has."""
        return self._worker_lacks_rows and self.is_requested

    @property
    def is_retry_delayed(self) -> bool:
        return bool(self.error) and time.monotonic() - self._error_at < RETRY_SECONDS

    @property
    def rate(self) -> float:
        """Recent rows per second; 0 while no rows arrive."""
        with self._lock:
            now = time.monotonic()
            self._drop_old_arrivals(now)
            since = max(self._progress_began_at, now - RATE_SECONDS)
            return sum(rows for _, rows in self._arrivals) / max(now - since, 1e-3)

    def read_progress(self, message: Message) -> None:
        """Reads the rows that a slice of training has appended."""
        with self._lock:
            length_before = self.length
            if self.in_memory and "head" not in message:  # the disk takes something again
                self._forget()
            for piece in message.get("unwritten", ()):
                if not self.append_in_memory(head=unpacked(LogHead, message["head"]), **piece):
                    self.sent_requests = ()  # asks the worker for all that it has
            self.read()
            self._worker_lacks_rows = message["length"] < self.length and not self.done
            if self.length > length_before and message["seconds"]:
                now = time.monotonic()
                self._drop_old_arrivals(now)
                if not self._arrivals:
                    self._progress_began_at = now - message["seconds"]
                self._arrivals.append((now, self.length - length_before))
            self.error, self.deaths = "", 0

    def fail(self, sentence: str) -> None:
        """Records why this run cannot go on. Its rows stay."""
        with self._lock:
            self.error, self._error_at = sentence, time.monotonic()
            self._worker_lacks_rows = False
            self.demand.clear()

    def record_worker_death(self, is_suspect: bool) -> None:
        """Records that the worker died while this run was requested: it starts again from row 0.

        `is_suspect`: this run may have killed it.
        """
        with self._lock:
            self._worker_lacks_rows = self.trained
            if is_suspect:
                self.deaths += 1

    def _drop_old_arrivals(self, now: float) -> None:
        while self._arrivals and self._arrivals[0][0] < now - RATE_SECONDS:
            self._arrivals.popleft()
