"""A tape as pages see it: the rows that have arrived so far. Torch-free; one thread writes, many read.

A tape of several seeds, whose runs are computed together, holds them side by side in each row.
"""

import time
from collections import deque
from threading import RLock

import numpy as np

from models.service.demand import Demand, RowGoal
from models.service.messages import unpacked
from models.service.wire import Message, size
from models.spec import RunConfig
from models.trace import Columns, Divergence, Frame, Trace, trace_of

OBJECT_BYTES = 4096
FIELDS_BYTES, OVERRIDE_BYTES = 2000, 120  # that a configuration takes, and each of its overrides (tracemalloc)
RATE_SECONDS = 2.0
RETRY_SECONDS = 10.0


class RunHistory:
    """The rows, frames and divergence of one run. Written rows never change, so earlier traces stay right."""

    def __init__(self, cfg: RunConfig, key: str, seeds: int = 1) -> None:
        self.cfg, self.key, self.seeds = cfg, key, seeds
        self.length = 0
        self.columns: Columns | None = None
        self.done = False
        self.divergences: list[Divergence | None] = [None] * seeds
        self.error = ""
        self.parameters = 0
        self.device = ""
        self.nbytes = OBJECT_BYTES + FIELDS_BYTES + OVERRIDE_BYTES * len(cfg.overrides) + len(key)
        self.deaths = 0
        self.life = 0  # the number of the worker that was told of this tape
        self.told: tuple[RowGoal, ...] = ()  # the goals of which it was told last
        self.demand = Demand()
        self._lock = RLock()
        self._rows = np.empty((0, 0), np.float32)
        self._frames: list[list[Frame]] = [[] for _ in range(seeds)]
        self._behind = False
        self._error_at = 0.0
        self._arrivals: deque[tuple[float, int]] = deque()
        self._moving_since = 0.0
        self._traces: tuple[tuple[int, int, int], list[Trace]] | None = None

    @property
    def divergence(self) -> Divergence | None:
        """Where the first seed diverged, if it did."""
        return self.divergences[0]

    @property
    def rest(self) -> int:
        """The last step so far; once all seeds have diverged, the one at which the player comes to rest."""
        fates = [fate.rest for fate in self.divergences if fate is not None]
        return max(fates) if len(fates) == self.seeds else max(0, self.length - 1)

    @property
    def frames(self) -> list[Frame]:
        """The first seed's frames so far, by step."""
        with self._lock:
            return list(self._frames[0])

    @property
    def wanted(self) -> bool:
        """Whether somebody asks for rows that are not there yet."""
        return not self.done and any(goal.until > self.length for goal in self.demand.goals)

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

    def trace(self) -> Trace | None:
        """All rows of the first seed so far, or None before the first row. The same object until something arrives."""
        traces = self.traces()
        return traces[0] if traces else None

    def traces(self) -> list[Trace]:
        """One trace per seed, each as far as that seed got; none before the first row."""
        with self._lock:
            if self.columns is None:
                return []
            state = self.length, len(self._frames[0]), sum(fate is not None for fate in self.divergences)
            if self._traces is None or self._traces[0] != state:
                self._traces = state, [self._trace(seed) for seed in range(self.seeds)]
            return self._traces[1]

    def rows_from(self, start: int, most: int) -> np.ndarray:
        """At most `most` rows from `start` on, (rows, seeds * columns) float32: a view of rows that never change."""
        with self._lock:
            return self._rows[start : min(self.length, start + most)]

    def frames_from(self, seed: int, start: int) -> list[Frame]:
        """The frames of the seed at an index, without the first `start`."""
        with self._lock:
            return self._frames[seed][start:]

    def progress(self, message: Message) -> None:
        """Appends the result of a slice of training; skips rows that are here already, and all rows after a gap."""
        with self._lock:
            start = message["start"]
            if start > self.length or (self.columns is None and message["columns"] is None):
                return  # meant for an earlier tape that was dropped; the next wish starts at row 0
            if self.columns is None:
                self.columns = unpacked(Columns, message["columns"])
            self._append(message["rows"][self.length - start :], message["seconds"])
            self._behind = message["length"] < self.length and not message["done"]
            for kept, new in zip(self._frames, message["frames"], strict=True):
                for frame in new:
                    if not kept or frame["step"] > kept[-1].step:
                        kept.append(unpacked(Frame, frame))
                        self.nbytes += size(frame)
            self.parameters, self.device = message["parameters"], message["device"]
            self.error, self.deaths = "", 0
            if not self._behind:
                self.divergences = [unpacked(Divergence | None, fate) for fate in message["divergences"]]
                self.done = message["done"]

    def fail(self, sentence: str) -> None:
        """Notes why this run cannot go on. Its rows stay."""
        with self._lock:
            self.error, self._error_at = sentence, time.monotonic()
            self._behind = False
            self.demand.clear()

    def worker_lost(self, at_work: bool) -> None:
        """Notes that the worker died while this tape was wanted: the run starts again from row 0."""
        with self._lock:
            self._behind = self.length > 0
            self.deaths += at_work

    def _trace(self, seed: int) -> Trace:
        assert self.columns is not None
        fate, width = self.divergences[seed], self.columns.width
        end = self.length if fate is None else min(self.length, fate.step + 1)
        return trace_of(self.columns, self._rows[:end, seed * width : (seed + 1) * width], self._frames[seed], fate)

    def _append(self, rows: np.ndarray, seconds: float) -> None:
        if not len(rows):
            return
        end = self.length + len(rows)
        if end > len(self._rows):
            grown = np.empty((max(end, min(2 * end, self.cfg.steps + 1)), rows.shape[1]), np.float32)
            grown[: self.length] = self._rows[: self.length].reshape(self.length, rows.shape[1])
            self.nbytes += grown.nbytes - self._rows.nbytes
            self._rows = grown
        self._rows[self.length : end] = rows
        self.length = end
        now = time.monotonic()
        self._drop_old_arrivals(now)
        if not self._arrivals:
            self._moving_since = now - seconds
        self._arrivals.append((now, len(rows)))

    def _drop_old_arrivals(self, now: float) -> None:
        while self._arrivals and self._arrivals[0][0] < now - RATE_SECONDS:
            self._arrivals.popleft()
