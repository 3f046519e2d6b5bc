"""The torch side of the trainer: trains the wanted runs in turns and answers questions. It knows no pipes."""

import gc
import logging
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from models.answers import OF_TORCH
from models.instruments import INSTRUMENTS
from models.log import event, told
from models.service.messages import config_from, key_of, packed
from models.service.questions import QUESTIONS
from models.service.wire import Message
from models.service.wishes import Wishes
from models.spec import RunConfig
from models.spec.budget import Machine, held_bytes, over_budget
from models.spec.limits import LIMITS
from models.training import Replays, Run, SeedRuns, Work, available_devices

SLICE_SECONDS = 0.05
KEPT_RUNS = 64
KEPT_BYTES = LIMITS.memory * 1e6
MOST_RUNS = 256
TRAINED_RUNS = LIMITS.runs
JOB_SECONDS = 90.0  # how long an answer is worked on after it was last asked for: hidden tabs ask once a minute
MOST_JOBS, MOST_WAITING_JOBS = 16, 1000  # answers in work at the same time, and answers that may wait for them
SOON_ROWS = 40  # a wish for this few more rows (a step, a slow playhead) does not queue behind whole runs
TOLD_SECONDS = 0.25  # between reports on the progress of an answer


@dataclass
class Slot:
    """A run, what is wanted of it, and what has been sent. The run is built on its first turn."""

    cfg: RunConfig
    seeds: int = 1
    run: Run | SeedRuns | None = None
    wishes: Wishes = field(default_factory=Wishes)
    rows_sent: int = 0
    frames_sent: list[int] = field(default_factory=list)
    columns_sent: bool = False

    @property
    def goal(self) -> int:
        """The rows wanted, or 0 if there is nothing to do."""
        if self.run is None:
            return self.wishes.furthest(0)
        return 0 if self.run.done else self.wishes.furthest(self.run.step)

    @property
    def soon(self) -> bool:
        """Whether few more rows are enough."""
        return self.goal - (self.run.step if self.run else 0) <= SOON_ROWS


@dataclass
class Job:
    """An answer that takes longer than a slice: the rest of its work, and until when somebody waits for it."""

    work: Work[Any]
    until: float
    told: float = 0.0
    begun: bool = False


class Engine:
    """Trains and answers in slices. `emit` takes every message; errors become messages too.

    Runs are kept by key; when room is short, the one that has been unwanted longest goes first.
    """

    def __init__(self, emit: Callable[[Message], None]) -> None:
        self.emit = emit
        self.slots: OrderedDict[str, Slot] = OrderedDict()
        self.jobs: OrderedDict[str, Job] = OrderedDict()
        self.replays = Replays(self._live)
        self.turns: OrderedDict[str, None] = OrderedDict()
        self.trained: dict[str, None] = {}
        self.passed: set[str] = set()  # trained runs that skipped the queue, as long as few more rows are enough
        self.queue: dict[str, None] = {}
        self._queue_told: list[str] = []

    def hello(self, pid: int, machine: Machine) -> None:
        """Announces versions, devices, and how slow this machine is."""
        versions = {"python": sys.version.split()[0], "torch": str(torch.__version__)}
        known = {"versions": versions, "devices": available_devices(), "pid": pid, "machine": asdict(machine)}
        self.emit({"kind": "ready", **known})

    def want(self, message: Message) -> None:
        """Notes a wish. With `since`, it comes from a reader that has that many rows and nothing else of the tape."""
        key = message["key"]
        try:
            slot = self.slots.get(key)
            if slot is None:
                slot = Slot(config_from(message["query"]), message["seeds"])
                _within_budget(slot.cfg, slot.seeds)  # refused at once, not after a wait in the queue
        except ValueError as error:
            return self._refuse(key, error)
        self.slots[key] = slot
        self.slots.move_to_end(key)
        self.turns[key] = None
        slot.wishes.add(message["until"], message["seconds"], message["session"])
        if message["since"] is not None:
            slot.rows_sent, slot.frames_sent, slot.columns_sent = message["since"], [], False
            if slot.run is not None:
                self._push(key, slot, 0, 0.0)
        self._make_room()
        return None

    def release(self, key: str, session: str) -> None:
        """Notes that a session wants no more of a run."""
        if key in self.slots:
            self.slots[key].wishes.release(session)

    def work(self) -> bool:
        """Does one slice of work on the run or answer whose turn it is; returns whether anything is still wanted."""
        self._let_in()
        while self.turns:
            key, _ = self.turns.popitem(last=False)
            if key in self.jobs:
                self.turns[key] = None
                if self._may_go_on(self.jobs[key]):
                    self._go_on(key)
                    return True
                continue
            slot = self.slots.get(key)
            if slot is None or not slot.goal:
                continue
            if key not in self.trained:
                self.queue[key] = None
                self._let_in()
            if key in self.trained:
                self.turns[key] = None
                self.advance(key, slot.goal, SLICE_SECONDS)
                return True
        return bool(self.queue)

    def advance(self, key: str, goal: int, seconds: float | None = None) -> None:
        """Trains a run to `goal` rows, or for `seconds`, and sends the result."""
        slot, began = self.slots[key], time.monotonic()
        try:
            if slot.run is None:
                slot.run = Run(slot.cfg) if slot.seeds == 1 else SeedRuns(slot.cfg, _seeds(slot))
                event("run_begun", run=key, device=slot.run.device)
            ready = time.monotonic()
            left = None if seconds is None else seconds - (ready - began)
            added = slot.run.advance(goal - slot.run.step, left)
            slot.run.close()
            self._push(key, slot, added, ready)
            if added and slot.run.done:
                event("run_over", run=key, step=slot.run.step)
        except Exception as error:
            del self.slots[key]
            self._refuse(key, error)

    def answer(self, message: Message) -> None:
        """Answers one question, says why not, or starts an answer that takes longer."""
        key = message["key"]
        try:
            question, cfg = message["question"], config_from(message["query"])
            if question not in {about_torch.name for about_torch in OF_TORCH}:
                _within_budget(cfg)
            if question in INSTRUMENTS:
                self._begin(key, INSTRUMENTS[question](self.replays, cfg, **message["args"]))
            elif question in QUESTIONS:
                self._reply(key, QUESTIONS[question](cfg, message["args"]))
            else:
                raise ValueError(
                    f"there is no question {question!r}; there are {', '.join([*QUESTIONS, *INSTRUMENTS])}"
                )
        except Exception as error:
            self._reply(key, None, sentence(error))

    def renew(self, key: str) -> None:
        """Notes that somebody still waits for an answer."""
        if key in self.jobs:
            self.jobs[key].until = time.monotonic() + JOB_SECONDS

    def cancel(self, key: str) -> None:
        """Stops work on an answer."""
        if self.jobs.pop(key, None) is not None:
            self.emit({"kind": "dropped", "key": key})

    def finish(self, key: str) -> None:
        """Works on an answer until it is done."""
        while key in self.jobs:
            self._go_on(key)

    def _live(self, cfg: RunConfig) -> Run | None:
        """The run of a configuration, if it is in memory."""
        slot = self.slots.get(key_of(cfg))
        return slot.run if slot is not None and isinstance(slot.run, Run) else None

    def _begin(self, key: str, work: Work[Any]) -> None:
        if len(self.jobs) >= MOST_WAITING_JOBS:
            raise ValueError(f"{MOST_WAITING_JOBS} measurements wait already; try again in a minute")
        self.jobs[key] = Job(work, time.monotonic() + JOB_SECONDS)
        self.turns[key] = None

    def _may_go_on(self, job: Job) -> bool:
        """Whether a job gets its turn: it has begun, there is room to begin it, or it must be dropped."""
        job.begun = job.begun or sum(other.begun for other in self.jobs.values()) < MOST_JOBS
        return job.begun or time.monotonic() > job.until

    def _go_on(self, key: str) -> None:
        """Does a slice of work on an answer, and sends the answer or the progress."""
        job, began = self.jobs[key], time.monotonic()
        if began > job.until:
            return self.cancel(key)
        try:
            done = next(job.work)
            while time.monotonic() - began < SLICE_SECONDS:
                done = next(job.work)
        except StopIteration as end:
            del self.jobs[key]
            return self._reply(key, end.value)
        except Exception as error:
            del self.jobs[key]
            return self._reply(key, None, sentence(error))
        if time.monotonic() - job.told > TOLD_SECONDS:
            job.told = time.monotonic()
            self.emit({"kind": "answering", "key": key, "share": done})
        return None

    def _let_in(self) -> None:
        """Moves runs from the queue into training, first come first served, as far as there is room; one always trains.

        A run that has its wanted rows gives up its place, and the reader is told which still wait. Runs that need few
        more rows skip the queue, as long as few are enough.
        """
        self.trained = {key: None for key in self.trained if self._goal(key)}
        for key in [key for key in self.passed if key not in self.trained or not self.slots[key].soon]:
            self.passed.discard(key)
            if key in self.trained and len(self.trained) > TRAINED_RUNS:
                del self.trained[key]  # its next turn puts it into the queue
        held = sum(_held(self.slots[key]) for key in self.trained)
        full = False
        for key in list(self.queue):
            if self._goal(key):
                slot, needed = self.slots[key], _held(self.slots[key])
                crowded = len(self.trained) >= TRAINED_RUNS
                if self.trained and (((full or crowded) and not slot.soon) or held + needed > KEPT_BYTES):
                    full = True
                    continue
                if full or crowded:
                    self.passed.add(key)
                self.trained[key], self.turns[key], held = None, None, held + needed
            del self.queue[key]
        if list(self.queue) != self._queue_told:
            self._queue_told = list(self.queue)
            self.emit({"kind": "queue", "keys": self._queue_told})

    def _goal(self, key: str) -> int:
        return self.slots[key].goal if key in self.slots else 0

    def _reply(self, key: str, value: Any, error: str = "") -> None:
        """Sends an answer; if it cannot be sent, the error is sent instead."""
        reply: Message = {"kind": "answer", "key": key, "value": packed(value), "error": error}
        try:
            self.emit(reply)
        except ValueError as unsendable:
            self.emit(reply | {"value": None, "error": sentence(unsendable)})

    def _push(self, key: str, slot: Slot, added: int, began: float) -> None:
        """Sends the rows and frames that the reader lacks."""
        run = slot.run
        assert run is not None
        start = min(slot.rows_sent, run.length)
        rows = run.rows(start)
        frames = run.frames_by_run
        sent = slot.frames_sent or [0] * len(frames)
        message = {
            "kind": "progress",
            "key": key,
            "columns": None if slot.columns_sent else packed(run.columns),
            "length": run.length,
            "start": start,
            "rows": rows,
            "frames": [[packed(frame) for frame in of[count:]] for of, count in zip(frames, sent, strict=True)],
            "done": run.done,
            "divergences": packed(run.divergences),
            "parameters": run.parameters,
            "device": run.device,
            "added": added,
            "seconds": time.monotonic() - began if added else 0.0,
        }
        self.emit(message)
        slot.rows_sent, slot.frames_sent, slot.columns_sent = (
            max(slot.rows_sent, run.length),
            [len(of) for of in frames],
            True,
        )

    def _refuse(self, key: str, error: Exception) -> None:
        self.emit({"kind": "error", "key": key, "sentence": sentence(error)})

    def _make_room(self) -> None:
        """Drops the runs unwanted longest, if room is short: their tapes are drawn, and they can be computed again."""
        held = sum(_held(slot) for slot in self.slots.values() if slot.run is not None)
        for key, slot in list(self.slots.items())[:-1]:
            crowded = len(self.slots) > KEPT_RUNS or held > KEPT_BYTES
            if len(self.slots) > MOST_RUNS or (crowded and not slot.goal):
                held -= _held(slot) if slot.run is not None else 0
                del self.slots[key]


def sentence(error: Exception) -> str:
    """What a user is told about an error; its kind and place go to the server's log."""
    event("refused" if isinstance(error, ValueError) else "failed", logging.WARNING, **told(error))
    if isinstance(error, ValueError):
        return str(error)
    text = str(error).splitlines()[0] if str(error) else ""
    if isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error):
        device = "cuda" if isinstance(error, torch.OutOfMemoryError) else "the processor"
        error.__traceback__ = None  # its frames hold the tensors
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return f"out of memory on {device}; a smaller width, batch or depth needs less"
    return f"{type(error).__name__}: {text}"


def _held(slot: Slot) -> float:
    return held_bytes(slot.cfg) * slot.seeds


def _seeds(slot: Slot) -> range:
    return range(slot.cfg.seed, slot.cfg.seed + slot.seeds)


def _within_budget(cfg: RunConfig, seeds: int = 1) -> None:
    refusal = over_budget(cfg, seeds)
    if refusal:
        raise ValueError(refusal)
