"""A run as pages see it: its log, who wants more of it, and why it cannot go on. Torch-free; many threads read."""

import time
from collections import deque
from pathlib import Path
from threading import RLock

from models.runlog import LogHead, RunLog, folder_of
from models.service.demand import Demand, RowGoal
from models.service.messages import unpacked
from models.service.wire import Message
from models.spec import RunConfig
from models.trace import Columns, Divergence, Frame, Trace

OBJECT_BYTES = 4096
FIELDS_BYTES, OVERRIDE_BYTES = 2000, 120  # that a configuration takes, and each of its overrides (tracemalloc)
RATE_SECONDS = 2.0
RETRY_SECONDS = 10.0


class RunHistory:
    """One run, of one or several seeds that are computed together. `runs`: the folder of run logs."""

    def __init__(self, cfg: RunConfig, key: str, seeds: int, runs: Path) -> None:
        self.cfg, self.key, self.seeds = cfg, key, seeds
        self.error = ""
        self.deaths = 0
        self.told: tuple[RowGoal, ...] = ()  # the goals of which the worker was told last
        self.demand = Demand()
        self.log = RunLog(folder_of(runs, key))
        self._lock = RLock()
        self._size = OBJECT_BYTES + FIELDS_BYTES + OVERRIDE_BYTES * len(cfg.overrides) + len(key)
        self._behind = False
        self._error_at = 0.0
        self._arrivals: deque[tuple[float, int]] = deque()
        self._moving_since = 0.0

    @property
    def nbytes(self) -> int:
        """What it takes, in memory and on disk."""
        return self._size + self.log.nbytes

    @property
    def length(self) -> int:
        """The rows so far; 0 until somebody trains it, although row 0 may be known."""
        return self.log.length if self.log.begun else 0

    @property
    def columns(self) -> Columns | None:
        """The layout of a seed's row, once there are rows."""
        return self.log.head.columns if self.log.head and self.log.begun else None

    @property
    def done(self) -> bool:
        """Whether no more rows will come."""
        return self.log.done and not self._behind

    @property
    def divergences(self) -> list[Divergence | None]:
        """Where each seed diverged, if it did."""
        return self.log.divergences or [None] * self.seeds

    @property
    def divergence(self) -> Divergence | None:
        """Where the first seed diverged, if it did."""
        return self.divergences[0]

    @property
    def parameters(self) -> int:
        """How many numbers training changes, in all seeds together; 0 until that is known."""
        return self.log.head.parameters if self.log.head else 0

    @property
    def device(self) -> str:
        """Where it is computed; empty until that is known."""
        return self.log.head.device if self.log.head else ""

    @property
    def rest(self) -> int:
        """The last step so far; once all seeds have diverged, the one at which the player comes to rest."""
        fates = [fate.rest for fate in self.divergences if fate is not None]
        return max(fates) if len(fates) == self.seeds else max(0, self.length - 1)

    @property
    def frames(self) -> list[Frame]:
        """The first seed's frames so far, by step."""
        return self.log.frames() if self.log.begun else []

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
        """All rows of the first seed so far, or None before it is trained. The same object until something arrives."""
        traces = self.traces()
        return traces[0] if traces else None

    def traces(self) -> list[Trace]:
        """One trace per seed, each as far as that seed got; none before it is trained."""
        return self.log.traces() if self.log.begun else []

    def before(self) -> list[Trace]:
        """Row 0 of each seed as it is drawn before training, if it is known."""
        return self.log.before()

    def progress(self, message: Message) -> None:
        """Reads what a slice of training has appended."""
        with self._lock:
            known = self.length
            for piece in message.get("unwritten", ()):
                self.log.hold(head=unpacked(LogHead, message["head"]), **piece)
            self.log.read()
            self._behind = message["length"] < self.log.length and not message["done"]
            if self.length > known:
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
            self._behind = self.length > 0
            self.deaths += at_work

    def _drop_old_arrivals(self, now: float) -> None:
        while self._arrivals and self._arrivals[0][0] < now - RATE_SECONDS:
            self._arrivals.popleft()
