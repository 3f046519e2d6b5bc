"""The log of a run as pages read it, who wants more of it, and why it cannot go on. No torch; many threads read."""

import time
from collections import deque
from pathlib import Path

from models.runlog import LogHead, RunLog, folder_of
from models.service.demand import Demand, RowRequest
from models.service.messages import unpacked
from models.service.wire import Message
from models.spec import RunConfig

OBJECT_BYTES = 4096
FIELDS_BYTES, OVERRIDE_BYTES = 2000, 120  # that a configuration takes, and each of its overrides (tracemalloc)
RATE_SECONDS = 2.0
RETRY_SECONDS = 10.0


class WantedLog(RunLog):
    """The log of a run, of one or several seeds that are computed together. `runs`: the folder of run logs.

    `told`: the requests of which the worker was told last. `size`: the bytes that it takes beside its rows and events.
    """

    def __init__(self, cfg: RunConfig, key: str, seeds: int, runs: Path) -> None:
        super().__init__(folder_of(runs, key))
        self.cfg, self.key, self.seeds = cfg, key, seeds
        self.error = ""
        self.deaths = 0
        self.told: tuple[RowRequest, ...] = ()
        self.demand = Demand()
        self.size = OBJECT_BYTES + FIELDS_BYTES + OVERRIDE_BYTES * len(cfg.overrides) + len(key)
        self._behind = False
        self._error_at = 0.0
        self._arrivals: deque[tuple[float, int]] = deque()
        self._moving_since = 0.0

    @property
    def wanted(self) -> bool:
        """Whether somebody asks for rows that are not there yet."""
        return not self.done and any(request.until > self.length for request in self.demand.requests)

    @property
    def recomputing(self) -> bool:
        """Whether rows that are already here are being computed again, after the worker died."""
        return self._behind and self.wanted

    @property
    def resting(self) -> bool:
        """Whether an error is too recent to try again."""
        return bool(self.error) and time.monotonic() - self._error_at < RETRY_SECONDS

    @property
    def rate(self) -> float:
        """The rows per second that arrived recently; 0 while none do."""
        with self._lock:
            now = time.monotonic()
            self._drop_old_arrivals(now)
            since = max(self._moving_since, now - RATE_SECONDS)
            return sum(rows for _, rows in self._arrivals) / max(now - since, 1e-3)

    def progress(self, message: Message) -> None:
        """Reads what a slice of training has appended."""
        with self._lock:
            known = self.length
            for piece in message.get("unwritten", ()):
                self.hold(head=unpacked(LogHead, message["head"]), **piece)
            self.read()
            self._behind = message["length"] < self.length and not self.done
            if self.length > known and message["seconds"]:
                now = time.monotonic()
                self._drop_old_arrivals(now)
                if not self._arrivals:
                    self._moving_since = now - message["seconds"]
                self._arrivals.append((now, self.length - known))
            self.error, self.deaths = "", 0

    def fail(self, sentence: str) -> None:
        """Notes why this run cannot go on. Its rows stay."""
        with self._lock:
            self.error, self._error_at = sentence, time.monotonic()
            self._behind = False
            self.demand.clear()

    def worker_lost(self, at_work: bool) -> None:
        """Notes that the worker died while this run was wanted: it starts again from row 0."""
        with self._lock:
            self._behind = self.trained
            self.deaths += at_work

    def _drop_old_arrivals(self, now: float) -> None:
        while self._arrivals and self._arrivals[0][0] < now - RATE_SECONDS:
            self._arrivals.popleft()
