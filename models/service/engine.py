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

from models.answers import OPENED, Opened
from models.instruments import INSTRUMENTS
from models.log import error_facts, event
from models.runlog import RunLog, folder_of
from models.service.demand import RowRequest
from models.service.messages import config_from, key_of, log_key, packed
from models.service.questions import QUESTIONS
from models.service.sharing import Client, Turns, admission_order, clients_of_runs
from models.service.wire import Message
from models.spec import RunConfig
from models.spec.budget import Machine, budget_refusal, resident_bytes
from models.spec.limits import LIMITS
from models.training import Replays, Run, SeedRuns, Work, available_devices
from models.training.log_writer import append_to_log, begin_log, log_opening, seed_runs

SLICE_SECONDS = 0.05
MAX_RUNS = 256  # in memory
MAX_IDLE_RUNS = 64  # with more runs in memory, those without a request are dropped
MAX_RUN_BYTES = LIMITS.memory * 1e6
MAX_TRAINED_RUNS = LIMITS.runs
MAX_JOBS = 16  # answers in work at the same time
MAX_WAITING_JOBS = 1000  # answers in work or waiting
SHORT_REQUEST_ROWS = 40  # a request for this few more rows (a step, a slow playhead) skips the queue of whole runs
MAX_NEWCOMERS = 16  # sessions without a place whose first rows skip the queue too
NEWCOMER_BYTES = MAX_RUN_BYTES / 4  # memory for their runs beyond MAX_RUN_BYTES
FIRST_ROWS = 2  # of a run, computed in its first turn even if that takes longer than a slice
REPORT_SECONDS = 0.25  # between progress reports on an answer


@dataclass
class Slot:
    """A run, its log and its requests. The run is built in its first turn."""

    cfg: RunConfig
    seeds: int
    log: RunLog
    run: Run | SeedRuns | None = None
    requests: Sequence[RowRequest] = ()

    @property
    def target_row(self) -> int:
        """The number of rows requested; 0 if all are computed."""
        return max((request.until for request in self._open_requests), default=0)

    @property
    def rows(self) -> int:
        return self.run.step if self.run else 0

    @property
    def requesters(self) -> list[Client]:
        return [Client(request.session, request.address) for request in self._open_requests]

    @property
    def bytes(self) -> float:
        """Estimated memory of the run once it is built."""
        return resident_bytes(self.cfg) * self.seeds

    @property
    def _open_requests(self) -> list[RowRequest]:
        if self.run and self.run.done:
            return []
        return [request for request in self.requests if request.until > self.rows]


@dataclass
class Job:
    """An answer that takes longer than a slice: its remaining work."""

    work: Work[Any]
    client: Client
    reported_at: float = 0.0  # monotonic seconds
    is_started: bool = False


class Engine:
    """Trains and answers in slices. `emit` takes every message, errors included; `runs` is the folder of the logs.

    `slots`: runs by key; without enough memory, the one longest without a request is dropped first. `trained`: the
    runs that have a place. `expedited`: runs trained without one. `turns`: keys of trained runs, expedited runs and
    jobs, least recently served first.
    """

    def __init__(self, emit: Callable[[Message], None], runs: Path) -> None:
        self.emit, self.runs = emit, runs
        self.slots: OrderedDict[str, Slot] = OrderedDict()
        self.jobs: OrderedDict[str, Job] = OrderedDict()
        self.replays = Replays(self._run_in_memory)
        self.turns: OrderedDict[str, None] = OrderedDict()
        self.trained: dict[str, None] = {}
        self.expedited: set[str] = set()
        self.requested: dict[str, None] = {}
        self.queue: list[str] = []
        self._client_of: dict[str, Client] = {}
        self._turn_counts = Turns()
        self._announced_question = ""
        self._is_disk_full = False  # as of the last log that was written

    def announce(self, pid: int, machine: Machine) -> None:
        """Sends versions, devices, and the speed of this machine."""
        versions = {"python": sys.version.split()[0], "torch": str(torch.__version__)}
        facts = {"versions": versions, "devices": available_devices(), "pid": pid, "machine": asdict(machine)}
        self.emit({"kind": "ready", **facts})

    def set_requests(self, message: Message) -> None:
        """Replaces the requests of a run."""
        key = message["key"]
        if not message["requests"]:
            if key in self.slots:
                self.slots[key].requests = ()
            return None
        try:
            slot = self.slots.get(key)
            if slot is None:
                slot = Slot(config_from(message["query"]), message["seeds"], RunLog(folder_of(self.runs, key)))
                _require_budget(slot.cfg, slot.seeds)  # refused at once, not after a wait in the queue
        except ValueError as error:
            return self._refuse(key, error)
        self.slots[key] = slot
        self.slots.move_to_end(key)
        self.requested[key] = None
        slot.requests = [RowRequest(*request) for request in message["requests"]]
        if slot.run is not None:  # the reader may have deleted its log, or dropped rows that are in no file
            if slot.log.in_memory:
                slot.log = RunLog(slot.log.folder)
                begin_log(slot.run, slot.log)
            self._write(key, slot)
        self._make_room()
        return None

    def work(self) -> bool:
        """Does one slice of work on the run or answer whose turn it is; returns whether there was any work."""
        self._admit_runs()
        self._start_jobs()
        active: dict[str, Client] = {}
        for key in self.turns:
            if key in self.trained or key in self.expedited:
                active[key] = self._client_of[key]
            elif key in self.jobs and self.jobs[key].is_started:
                active[key] = self.jobs[key].client
        if not active:
            return False
        key = self._turn_counts.next(active)
        self.turns.move_to_end(key)
        if key in self.jobs:
            self._continue_job(key)
        elif target_row := self.slots[key].target_row:
            if self.slots[key].rows < FIRST_ROWS:  # a visitor who pressed Train sees a step within one round of turns
                self.advance(key, min(target_row, FIRST_ROWS))
            else:
                self.advance(key, target_row, SLICE_SECONDS)
        self._turn_counts.charge(active[key], active.values())
        return True

    def advance(self, key: str, target_row: int, seconds: float | None = None) -> None:
        """Trains a run to `target_row` rows, or for `seconds`, and reports its progress."""
        slot, began_at = self.slots[key], time.monotonic()
        self._announce_question("")
        try:
            if slot.run is None:
                slot.run = Run(slot.cfg) if slot.seeds == 1 else seed_runs(slot.cfg, slot.seeds)
                begin_log(slot.run, slot.log)
                event("run_begun", run=key, device=slot.run.device)
            ready_at = time.monotonic()
            remaining_seconds = None if seconds is None else seconds - (ready_at - began_at)
            new_rows = slot.run.advance(target_row - slot.run.step, remaining_seconds)
            slot.run.close()
            self._write(key, slot, time.monotonic() - ready_at if new_rows else 0.0)
            if new_rows and slot.run.done:
                event("run_over", run=key, step=slot.run.step)
        except Exception as error:
            del self.slots[key]
            self._refuse(key, error)

    def answer(self, message: Message) -> None:
        """Answers one question with a value or an error, or queues it as a job if it takes longer."""
        key = message["key"]
        self._announce_question(key)
        try:
            question, cfg = message["question"], config_from(message["query"])
            if question not in QUESTIONS:
                _require_budget(cfg)
            if question == OPENED.name:
                self._reply(key, self._open_log(cfg, message["args"]["seeds"]))
            elif question in INSTRUMENTS:
                client = Client(message.get("session", ""), message.get("address", ""), "answer")
                self._add_job(key, client, INSTRUMENTS[question](self.replays, cfg, **message["args"]))
            elif question in QUESTIONS:
                self._reply(key, QUESTIONS[question](cfg, message["args"]))
            else:
                raise ValueError(
                    f"there is no question {question!r}; there are {', '.join([OPENED.name, *QUESTIONS, *INSTRUMENTS])}"
                )
        except Exception as error:
            self._reply(key, None, error_sentence(error))

    def cancel(self, key: str) -> None:
        self.jobs.pop(key, None)

    def finish(self, key: str) -> None:
        while key in self.jobs:
            self._continue_job(key)

    def _open_log(self, cfg: RunConfig, seeds: int) -> Opened:
        """Makes sure that a log has row 0, and frame 0 of its first seed without held-out figures."""
        key = log_key(cfg, seeds)
        log = self.slots[key].log if key in self.slots else RunLog(folder_of(self.runs, key))
        if not log.read().length or not log.exists():
            head, rows, events = log_opening(cfg, seeds)
            log.begin(head)
            log.append(rows[log.length :], events)
        self._report_progress(key, log, log.length)
        return Opened()

    def _run_in_memory(self, cfg: RunConfig) -> Run | None:
        slot = self.slots.get(key_of(cfg))
        return slot.run if slot is not None and isinstance(slot.run, Run) else None

    def _add_job(self, key: str, client: Client, work: Work[Any]) -> None:
        if len(self.jobs) >= MAX_WAITING_JOBS:
            raise ValueError(f"{MAX_WAITING_JOBS} measurements wait already; try again in a minute")
        self.jobs[key] = Job(work, client)
        self.turns[key] = None

    def _start_jobs(self) -> None:
        """Starts waiting answers: an equal share of MAX_JOBS for each client, and a first one up to twice MAX_JOBS."""
        started = Counter(job.client for job in self.jobs.values() if job.is_started)
        jobs_per_client = max(1, MAX_JOBS // max(1, len({job.client for job in self.jobs.values()})))
        for job in self.jobs.values():
            may_start_first = not started[job.client] and started.total() < 2 * MAX_JOBS
            may_start_in_share = started[job.client] < jobs_per_client and started.total() < MAX_JOBS
            if not job.is_started and (may_start_first or may_start_in_share):
                job.is_started = True
                started[job.client] += 1

    def _continue_job(self, key: str) -> None:
        """Does a slice of work on an answer, and sends the answer or the progress."""
        job, began_at = self.jobs[key], time.monotonic()
        self._announce_question(key)
        try:
            done = next(job.work)
            while time.monotonic() - began_at < SLICE_SECONDS:
                done = next(job.work)
        except StopIteration as end:
            del self.jobs[key]
            return self._reply(key, end.value)
        except Exception as error:
            del self.jobs[key]
            return self._reply(key, None, error_sentence(error))
        if time.monotonic() - job.reported_at > REPORT_SECONDS:
            job.reported_at = time.monotonic()
            self.emit({"kind": "answering", "key": key, "share": done})
        return None

    def _admit_runs(self) -> None:
        """Chooses the runs to train, and tells the reader which ones wait.

        Places are shared out equally over clients; at least one run trains. A run with all its requested rows gives up
        its place, and a client's second run gives it up to another client's first.
        """
        requesters = {key: self.slots[key].requesters for key in self.requested if key in self.slots}
        requesters = {key: clients for key, clients in requesters.items() if clients}
        self.requested = dict.fromkeys(requesters)
        self._client_of = clients_of_runs(requesters)
        trained: dict[str, None] = {}
        waiting: list[str] = []
        total_bytes = 0.0
        for key in admission_order(self._client_of, self.trained, MAX_TRAINED_RUNS):
            new_total = total_bytes + self.slots[key].bytes
            fits = len(trained) < MAX_TRAINED_RUNS and (not trained or new_total <= MAX_RUN_BYTES)
            if fits and (key in self.trained or not waiting):
                trained[key] = None
                total_bytes = new_total
            else:
                waiting.append(key)
        self.trained = trained
        self.expedited = self._runs_to_expedite(waiting, total_bytes)
        self._update_turns()
        queue = [key for key in waiting if key not in self.expedited]
        if queue != self.queue:
            self.queue = queue
            self.emit({"kind": "queue", "keys": queue})

    def _runs_to_expedite(self, waiting: list[str], total_bytes: float) -> set[str]:
        """The waiting runs that skip the queue: those that need few more rows, and newcomers until they have a few.

        A newcomer is the first run of a client without a place. `total_bytes`: estimated memory of the trained runs.
        """
        expedited: set[str] = set()
        clients_served = {self._client_of[key] for key in self.trained}
        newcomers = 0
        for key in waiting:
            slot, client = self.slots[key], self._client_of[key]
            is_new = client not in clients_served and slot.rows < SHORT_REQUEST_ROWS and newcomers < MAX_NEWCOMERS
            max_bytes = MAX_RUN_BYTES + NEWCOMER_BYTES if is_new else MAX_RUN_BYTES
            is_short = slot.target_row - slot.rows <= SHORT_REQUEST_ROWS
            if (is_new or is_short) and total_bytes + slot.bytes <= max_bytes:
                expedited.add(key)
                clients_served.add(client)
                newcomers += is_new
                total_bytes += slot.bytes
        return expedited

    def _update_turns(self) -> None:
        """Adds newly admitted runs to the turns, first in line at equal counts, and removes the others."""
        for key in (*self.trained, *self.expedited):
            if key not in self.turns:
                self.turns[key] = None
                self.turns.move_to_end(key, last=False)
        for key in list(self.turns):
            if key not in self.jobs and key not in self.trained and key not in self.expedited:
                del self.turns[key]

    def _announce_question(self, key: str) -> None:
        """Announces the question in work, or none, so that the reader knows the one that kills the worker."""
        if key != self._announced_question:
            self._announced_question = key
            self.emit({"kind": "at", "key": key})

    def _reply(self, key: str, value: Any, error: str = "") -> None:
        """Sends an answer; if it cannot be sent, the error is sent instead."""
        reply: Message = {"kind": "answer", "key": key, "value": packed(value), "error": error}
        try:
            self.emit(reply)
        except ValueError as unsendable:
            self.emit(reply | {"value": None, "error": error_sentence(unsendable)})

    def _write(self, key: str, slot: Slot, seconds: float = 0.0) -> None:
        """Appends a run's new rows to its log, and reports them. `seconds`: the time that they took."""
        assert slot.run is not None
        append_to_log(slot.run, slot.log)
        self._report_progress(key, slot.log, slot.run.length, seconds)

    def _report_progress(self, key: str, log: RunLog, length: int, seconds: float = 0.0) -> None:
        """Sends a run's length, the time of its new rows, and rows that no file has."""
        report: Message = {"kind": "progress", "key": key, "length": length, "seconds": seconds}
        if log.in_memory and not self._is_disk_full:
            event("runs_in_memory", logging.WARNING, error=log.disk_error)
        self._is_disk_full = log.in_memory
        pieces = log.take_unwritten()
        for piece in pieces[:-1]:
            self.emit(report | {"head": packed(log.head), "unwritten": [piece]})
        self.emit(report | ({"head": packed(log.head), "unwritten": pieces[-1:]} if log.in_memory else {}))

    def _refuse(self, key: str, error: Exception) -> None:
        self.emit({"kind": "error", "key": key, "sentence": error_sentence(error)})

    def _make_room(self) -> None:
        """Drops runs beyond the limits: pages show their logs, and they can be computed again.

        The runs longest without a request go first, then waiting ones from the end of the queue.
        """
        total_bytes = sum(slot.bytes for slot in self.slots.values() if slot.run is not None)
        for key, slot in list(self.slots.items())[:-1]:  # all but the run just requested
            if (len(self.slots) > MAX_IDLE_RUNS or total_bytes > MAX_RUN_BYTES) and not slot.target_row:
                total_bytes -= slot.bytes if slot.run is not None else 0
                del self.slots[key]
        for key in [key for key in reversed(self.queue) if key in self.slots]:
            slot = self.slots[key]
            if total_bytes > MAX_RUN_BYTES + NEWCOMER_BYTES and slot.run is not None:
                slot.run = None
                total_bytes -= slot.bytes
            if len(self.slots) > MAX_RUNS:
                del self.slots[key]
                self.emit({"kind": "forgotten", "key": key})


def error_sentence(error: Exception) -> str:
    """The sentence that a visitor reads about an error; the server's log gets its kind and place."""
    event("refused" if isinstance(error, ValueError) else "failed", logging.WARNING, **error_facts(error))
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


def _require_budget(cfg: RunConfig, seeds: int = 1) -> None:
    refusal = budget_refusal(cfg, seeds)
    if refusal:
        raise ValueError(refusal)
