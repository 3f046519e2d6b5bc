"""The torch side of the trainer: trains the wanted runs in turns and answers questions. It knows no pipes."""

import gc
import logging
import sys
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from models.answers import OF_TORCH, OPENED, Opened
from models.instruments import INSTRUMENTS
from models.log import event, told
from models.runlog import RunLog, folder_of
from models.service.demand import RowRequest
from models.service.messages import config_from, key_of, log_key, packed
from models.service.questions import QUESTIONS
from models.service.sharing import Client, Turns, admission_order, clients_of_runs
from models.service.wire import Message
from models.spec import RunConfig
from models.spec.budget import Machine, held_bytes, over_budget
from models.spec.limits import LIMITS
from models.training import Replays, Run, SeedRuns, Work, available_devices
from models.training.logged import append_to_log, begin_log, opening, seeds_of

SLICE_SECONDS = 0.05
KEPT_RUNS = 64
KEPT_BYTES = LIMITS.memory * 1e6
MAX_RUNS = 256
TRAINED_RUNS = LIMITS.runs
MAX_JOBS, MAX_WAITING_JOBS = 16, 1000  # answers in work at the same time, and answers that may wait for them
SOON_ROWS = 40  # a wish for this few more rows (a step, a slow playhead) does not queue behind whole runs
FIRST_ROWS = 2  # of a run, which its first turn brings however slow it is
MAX_NEW, NEW_BYTES = 16, KEPT_BYTES / 4  # sessions without a place whose first SOON_ROWS rows do not queue either
TOLD_SECONDS = 0.25  # between reports on the progress of an answer


@dataclass
class Slot:
    """A run, its log and its requests. The run is built on its first turn."""

    cfg: RunConfig
    seeds: int
    log: RunLog
    run: Run | SeedRuns | None = None
    requests: Sequence[RowRequest] = ()

    @property
    def target_row(self) -> int:
        """The rows wanted, or 0 if there is nothing to do."""
        return max((request.until for request in self._open), default=0)

    @property
    def rows(self) -> int:
        """The rows computed so far."""
        return self.run.step if self.run else 0

    @property
    def requesters(self) -> list[Client]:
        """Who wants more rows."""
        return [Client(request.session, request.address) for request in self._open]

    @property
    def _open(self) -> list[RowRequest]:
        """The requests that are not reached yet."""
        return [] if self.run and self.run.done else [request for request in self.requests if request.until > self.rows]


@dataclass
class Job:
    """An answer that takes longer than a slice: the rest of its work."""

    work: Work[Any]
    client: Client
    told: float = 0.0
    begun: bool = False


class Engine:
    """Trains and answers in slices. `emit` takes every message, `runs` the logs; errors become messages too.

    Runs are kept by key; when room is short, the one that has been unwanted longest goes first. `trained`: the runs
    that have a place; `passing`: those that are trained without one. `turns`: all of them and the answers in work, the
    one whose turn was longest ago first.
    """

    def __init__(self, emit: Callable[[Message], None], runs: Path) -> None:
        self.emit, self.runs = emit, runs
        self.slots: OrderedDict[str, Slot] = OrderedDict()
        self.jobs: OrderedDict[str, Job] = OrderedDict()
        self.replays = Replays(self._live)
        self.turns: OrderedDict[str, None] = OrderedDict()
        self.trained: dict[str, None] = {}
        self.passing: set[str] = set()
        self.wanted: dict[str, None] = {}
        self.queue: list[str] = []
        self._client_of: dict[str, Client] = {}
        self._shares = Turns()
        self._at_told = ""

    def hello(self, pid: int, machine: Machine) -> None:
        """Announces versions, devices, and how slow this machine is."""
        versions = {"python": sys.version.split()[0], "torch": str(torch.__version__)}
        known = {"versions": versions, "devices": available_devices(), "pid": pid, "machine": asdict(machine)}
        self.emit({"kind": "ready", **known})

    def aim(self, message: Message) -> None:
        """Sets the requests of a run, in place of its earlier ones."""
        key = message["key"]
        if not message["requests"]:
            if key in self.slots:
                self.slots[key].requests = ()
            return None
        try:
            slot = self.slots.get(key)
            if slot is None:
                slot = Slot(config_from(message["query"]), message["seeds"], RunLog(folder_of(self.runs, key)))
                _within_budget(slot.cfg, slot.seeds)  # refused at once, not after a wait in the queue
        except ValueError as error:
            return self._refuse(key, error)
        self.slots[key] = slot
        self.slots.move_to_end(key)
        self.wanted[key] = None
        slot.requests = [RowRequest(*request) for request in message["requests"]]
        if slot.run is not None:  # the reader may have deleted its log, or dropped what was in memory alone
            if slot.log.in_memory:
                slot.log = RunLog(slot.log.folder)
                begin_log(slot.run, slot.log)
            self._write(key, slot)
        self._make_room()
        return None

    def work(self) -> bool:
        """Does one slice of work on the run or answer whose turn it is; returns whether anything is still wanted."""
        self._let_in()
        self._begin_jobs()
        going = {key: self._client_of[key] for key in self.turns if key in self.trained or key in self.passing}
        going |= {key: self.jobs[key].client for key in self.turns if key in self.jobs and self.jobs[key].begun}
        if not going:
            return False
        key = self._shares.next({key: going[key] for key in self.turns if key in going})
        self.turns.move_to_end(key)
        if key in self.jobs:
            self._go_on(key)
        elif target_row := self.slots[key].target_row:
            new = self.slots[key].rows < FIRST_ROWS  # whoever pressed Train sees a step before a whole round is over
            self.advance(key, min(target_row, FIRST_ROWS) if new else target_row, None if new else SLICE_SECONDS)
        self._shares.charge(going[key], going.values())
        return True

    def advance(self, key: str, target_row: int, seconds: float | None = None) -> None:
        """Trains a run to `target_row` rows, or for `seconds`, and sends the result."""
        slot, began = self.slots[key], time.monotonic()
        self._at("")
        try:
            if slot.run is None:
                slot.run = Run(slot.cfg) if slot.seeds == 1 else seeds_of(slot.cfg, slot.seeds)
                begin_log(slot.run, slot.log)
                event("run_begun", run=key, device=slot.run.device)
            ready = time.monotonic()
            left = None if seconds is None else seconds - (ready - began)
            added = slot.run.advance(target_row - slot.run.step, left)
            slot.run.close()
            self._write(key, slot, time.monotonic() - ready if added else 0.0)
            if added and slot.run.done:
                event("run_over", run=key, step=slot.run.step)
        except Exception as error:
            del self.slots[key]
            self._refuse(key, error)

    def answer(self, message: Message) -> None:
        """Answers one question, says why not, or starts an answer that takes longer."""
        key = message["key"]
        self._at(key)
        try:
            question, cfg = message["question"], config_from(message["query"])
            if question not in {about_torch.name for about_torch in OF_TORCH}:
                _within_budget(cfg)
            if question == OPENED.name:
                self._reply(key, self._open(cfg, message["args"]["seeds"]))
            elif question in INSTRUMENTS:
                client = Client(message.get("session", ""), message.get("address", ""), "answer")
                self._begin(key, client, INSTRUMENTS[question](self.replays, cfg, **message["args"]))
            elif question in QUESTIONS:
                self._reply(key, QUESTIONS[question](cfg, message["args"]))
            else:
                raise ValueError(
                    f"there is no question {question!r}; there are {', '.join([OPENED.name, *QUESTIONS, *INSTRUMENTS])}"
                )
        except Exception as error:
            self._reply(key, None, sentence(error))

    def cancel(self, key: str) -> None:
        """Stops work on an answer."""
        self.jobs.pop(key, None)

    def finish(self, key: str) -> None:
        """Works on an answer until it is done."""
        while key in self.jobs:
            self._go_on(key)

    def _open(self, cfg: RunConfig, seeds: int) -> Opened:
        """Writes row 0 of a run, and of its first seed frame 0 without held-out figures, unless they are there."""
        key = log_key(cfg, seeds)
        log = self.slots[key].log if key in self.slots else RunLog(folder_of(self.runs, key))
        if not log.read().length or not log.exists():
            head, rows, events = opening(cfg, seeds)
            log.begin(head)
            log.append(rows[log.length :], events)
        self._tell(key, log, log.length)
        return Opened()

    def _live(self, cfg: RunConfig) -> Run | None:
        """The run of a configuration, if it is in memory."""
        slot = self.slots.get(key_of(cfg))
        return slot.run if slot is not None and isinstance(slot.run, Run) else None

    def _begin(self, key: str, client: Client, work: Work[Any]) -> None:
        if len(self.jobs) >= MAX_WAITING_JOBS:
            raise ValueError(f"{MAX_WAITING_JOBS} measurements wait already; try again in a minute")
        self.jobs[key] = Job(work, client)
        self.turns[key] = None

    def _begin_jobs(self) -> None:
        """Begins answers as far as there is room, as many of each session; a session's first needs less of it."""
        begun = Counter(job.client for job in self.jobs.values() if job.begun)
        each = max(1, MAX_JOBS // max(1, len({job.client for job in self.jobs.values()})))
        for job in self.jobs.values():
            mine = begun[job.client]
            room = 2 * MAX_JOBS if not mine else MAX_JOBS if mine < each else 0
            if not job.begun and begun.total() < room:
                job.begun = True
                begun[job.client] += 1

    def _go_on(self, key: str) -> None:
        """Does a slice of work on an answer, and sends the answer or the progress."""
        job, began = self.jobs[key], time.monotonic()
        self._at(key)
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
        """Chooses the runs that are trained, as many of each session as far as there is room; one always trains.

        A run that has its wanted rows gives up its place, and so does the second of a session for the first of another;
        the reader is told which wait. Runs that need few more rows pass the queue, as long as few are enough, and so
        does the first run of a session without a place, until it has a few.
        """
        requesters = {key: who for key in self.wanted if key in self.slots and (who := self.slots[key].requesters)}
        self.wanted, self._client_of = dict.fromkeys(requesters), clients_of_runs(requesters)
        trained: dict[str, None] = {}
        waiting: list[str] = []
        held = 0.0
        for key in admission_order(self._client_of, self.trained, TRAINED_RUNS):
            needed = _held(self.slots[key])
            fits = len(trained) < TRAINED_RUNS and (not trained or held + needed <= KEPT_BYTES)
            if fits and (key in self.trained or not waiting):
                trained[key], held = None, held + needed
            else:
                waiting.append(key)
        placed, new = {self._client_of[key] for key in trained}, 0
        self.trained, self.passing = trained, set()
        for key in waiting:
            slot, client, needed = self.slots[key], self._client_of[key], _held(self.slots[key])
            is_new = client not in placed and slot.rows < SOON_ROWS and new < MAX_NEW
            room = KEPT_BYTES + NEW_BYTES if is_new else KEPT_BYTES
            if (is_new or slot.target_row - slot.rows <= SOON_ROWS) and held + needed <= room:
                self.passing.add(key)
                placed, new, held = placed | {client}, new + is_new, held + needed
        for key in [key for key in (*trained, *self.passing) if key not in self.turns]:
            self.turns[key] = None
            self.turns.move_to_end(key, last=False)  # among those who have had as many turns, a newcomer is first
        for key in [
            key for key in self.turns if key not in self.jobs and key not in trained and key not in self.passing
        ]:
            del self.turns[key]
        queue = [key for key in waiting if key not in self.passing]
        if queue != self.queue:
            self.queue = queue
            self.emit({"kind": "queue", "keys": queue})

    def _at(self, key: str) -> None:
        """Announces the question being worked on, or none, so that one that kills the worker can be given up."""
        if key != self._at_told:
            self._at_told = key
            self.emit({"kind": "at", "key": key})

    def _reply(self, key: str, value: Any, error: str = "") -> None:
        """Sends an answer; if it cannot be sent, the error is sent instead."""
        reply: Message = {"kind": "answer", "key": key, "value": packed(value), "error": error}
        try:
            self.emit(reply)
        except ValueError as unsendable:
            self.emit(reply | {"value": None, "error": sentence(unsendable)})

    def _write(self, key: str, slot: Slot, seconds: float = 0.0) -> None:
        """Appends to the log what it lacks of a run, which took so many seconds, and tells the reader."""
        assert slot.run is not None
        append_to_log(slot.run, slot.log)
        self._tell(key, slot.log, slot.run.length, seconds)

    def _tell(self, key: str, log: RunLog, length: int, seconds: float = 0.0) -> None:
        """Says how far a run is, how long its new rows took, if there are any, and what is in no file."""
        told: Message = {"key": key, "length": length, "seconds": seconds}
        if log.in_memory:
            told |= {"head": packed(log.head), "unwritten": log.unwritten()}
        self.emit({"kind": "progress"} | told)

    def _refuse(self, key: str, error: Exception) -> None:
        self.emit({"kind": "error", "key": key, "sentence": sentence(error)})

    def _make_room(self) -> None:
        """Drops runs, if room is short: their logs are drawn, and they can be computed again.

        Those unwanted longest go first, then those that wait, the last of the queue first.
        """
        held = sum(_held(slot) for slot in self.slots.values() if slot.run is not None)
        for key, slot in list(self.slots.items())[:-1]:
            if (len(self.slots) > KEPT_RUNS or held > KEPT_BYTES) and not slot.target_row:
                held -= _held(slot) if slot.run is not None else 0
                del self.slots[key]
        for key in [key for key in reversed(self.queue) if key in self.slots]:
            slot = self.slots[key]
            if held > KEPT_BYTES + NEW_BYTES and slot.run is not None:
                held, slot.run = held - _held(slot), None
            if len(self.slots) > MAX_RUNS:
                del self.slots[key]
                self.emit({"kind": "forgotten", "key": key})


def sentence(error: Exception) -> str:
    """The sentence that a user reads about an error; its kind and place go to the server's log."""
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


def _within_budget(cfg: RunConfig, seeds: int = 1) -> None:
    refusal = over_budget(cfg, seeds)
    if refusal:
        raise ValueError(refusal)
