"""The trainer as the pages see it. Imports no torch: what needs it happens in the worker process."""

import itertools
import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from models.answers import OPENED, Question, Value
from models.log import error_facts, event
from models.runlog import damaged_logs
from models.service.demand import NOBODY, Requester
from models.service.interface import REQUEST_SECONDS, SENTENCES, Answer, Status
from models.service.messages import config_from, key_of, log_key
from models.service.recorded import recorded_log
from models.service.requested_log import RequestedLog
from models.service.result_cache import LOG_BYTES, ResultCache, question_message
from models.service.runs import close_folder, open_folder
from models.service.wire import Message
from models.service.worker_process import WorkerProcess
from models.spec import RunConfig
from models.spec.budget import Machine, set_machine

__all__ = [
    "Answer",
    "RequestedLog",
    "Requester",
    "Status",
    "Trainer",
    "close_trainer",
    "config_from",
    "key_of",
    "log_key",
    "question_message",
    "trainer",
]

COMMAND = (sys.executable, "-m", "models.service.worker")
BACK_OFF_SECONDS = (0.5, 1.0, 2.0, 4.0)  # before each restart in a row; the last one repeats
FAILURE_LIMIT = 5  # failures in a row after which the worker is started only every RETRY_SECONDS
RETRY_SECONDS = 60.0
STABLE_SECONDS = 5.0  # a worker that was ready for longer did not fail at its start
FIRST_PAGE_SECONDS = 3.0  # in which a new server draws a page; loading torch meanwhile would slow it by a sixth
EXPIRY_SECONDS = 0.25  # between two searches for expired demand


class Trainer:
    """The source of logs and answers: one worker process, restarted when it dies. Safe to use from many threads.

    Only `ask` and `open_log` block, for at most `wait` seconds. `back_off`: seconds before each restart in a row.
    `start_delay`: seconds before the first start; `begin`, and any request that no recording answers, cut it short.
    `runs`: the folder of run logs.
    """

    def __init__(
        self,
        command: Sequence[str] = COMMAND,
        back_off: Sequence[float] = BACK_OFF_SECONDS,
        start_delay: float = 0.0,
        runs: Path | None = None,
    ) -> None:
        self.command, self.back_off = command, back_off
        self.runs = runs or open_folder(LOG_BYTES)
        self._results = ResultCache(self.runs, self._post)
        self._worker: WorkerProcess | None = None
        self._ready_worker: WorkerProcess | None = None  # the same, once it is ready
        self._failures = 0
        self._ready_at = float("inf")
        self._status = Status("starting", SENTENCES["starting"])
        self._closing = threading.Event()
        self._start_delay, self._needed = start_delay, threading.Event()
        self._thread = threading.Thread(target=self._supervise, name="trainer", daemon=True)
        self._thread.start()
        threading.Thread(target=self._expire, name="trainer demand", daemon=True).start()

    def begin(self) -> None:
        """Starts the worker now, if the start delay is not over."""
        self._needed.set()

    def status(self) -> Status:
        status = self._status
        if status.state != "failed" and self._thread.is_alive():
            return status  # without the lock, at which all pages of a class would queue
        with self._results.lock:  # so that a failed trainer has no demand left
            if not (self._thread.is_alive() or self._closing.is_set()):
                return Status("failed", SENTENCES["unattended"])
            return self._status

    def run_counts(self) -> tuple[int, int]:
        with self._results.lock:
            waiting = len(self._results.queue)
            return len(self._results.unfinished_logs()) - waiting, waiting

    def damaged_logs(self) -> int:
        """The number of run logs that were found damaged."""
        return damaged_logs(self.runs)

    def log(self, cfg: RunConfig, seeds: int = 1) -> RequestedLog:
        """The log of a configuration, for `seeds` seeds from its own up. Starts no training; the log may be empty."""
        return self._results.log(cfg, seeds)

    def request_rows(
        self,
        cfg: RunConfig,
        until: int,
        seconds: float = REQUEST_SECONDS,
        seeds: int = 1,
        owner: Requester | None = None,
    ) -> RequestedLog:
        """Requests `until` rows for the next `seconds`; a viewer repeats it while it watches.

        If the log has that many rows already, the owner's request ends. After an error nothing is requested for a
        while. A session trains for one screen at a time: its requests from other screens end.
        """
        with self._results.lock:
            log = self._results.add_log(cfg, seeds)
            if until <= log.length:
                log.demand.end(owner or NOBODY)
                self._results.sync_requests()
            elif not (log.done or log.is_retry_delayed or self.status().state == "failed"):
                self._results.request_rows(log, owner or NOBODY, until, seconds)
                self.begin()
            return log

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Calls `listener`, which must return at once, with the key of each changed log or answer; empty: any."""
        with self._results.lock:
            self._results.listeners.append(listener)

    def queue_position(self, log: RequestedLog) -> int:
        """A log's position in the queue, from 1; 0 if it does not wait."""
        return self._results.queue_position(log)

    def ask(
        self, question: Question[Value], cfg: RunConfig, wait: float = 0.0, owner: Requester | None = None, **args: Any
    ) -> Answer[Value] | None:
        """The answer to a question of `models.answers`, or None if it does not arrive within `wait` seconds.

        The trainer works on a long answer only while the question is repeated and its session stays on this screen.
        Identical open questions are sent once.
        """
        requester = owner or NOBODY
        try:
            message = question_message(question, cfg, args, requester)
        except ValueError as too_long:
            return Answer(None, str(too_long))
        key, results = message["key"], self._results
        with results.lock:
            demands = {other_key: other.demand for other_key, other in results.open_questions.items()}
            results.end_hidden_demand(requester, {key}, demands)
            answer = results.answer(key, question)
            if answer is None and self.status().state != "failed":
                results.ask(message, requester, max(REQUEST_SECONDS, wait))
                if wait or question is not OPENED or recorded_log(cfg) is None:
                    self.begin()
            results.sync_requests()
            if answer is None and wait > 0:
                results.changed.wait_for(lambda: key not in results.open_questions, wait)
                answer = results.answer(key, question)
            if answer is None and (status := self.status()).state == "failed":
                return Answer(None, status.sentence)
            return answer

    def open_log(
        self, cfg: RunConfig, seeds: int = 1, wait: float = 0.0, owner: Requester | None = None
    ) -> Answer[RequestedLog] | None:
        """The log of a configuration with at least row 0, or None if that does not arrive in time. Trains nothing.

        `wait`: seconds from when anybody first asked, so that pages do not wait again for what a busy trainer owes.
        """
        with self._results.lock:
            log = self._results.log(cfg, seeds)
            if not log.length:
                log = self._results.add_log(cfg, seeds)
                question = self._results.open_questions.get(question_message(OPENED, cfg, {"seeds": seeds})["key"])
                wait = max(0.0, wait - (time.monotonic() - question.asked_at)) if question else wait
                answer = self.ask(OPENED, cfg, wait, owner, seeds=seeds)
                if answer is not None and answer.error:
                    return Answer(None, answer.error)
                if answer is not None:  # else it has not come, or another thread that waited has taken it
                    self._results.answers.pop(question_message(OPENED, cfg, {"seeds": seeds})["key"], None)
                    log.read()
            return Answer(log) if log.length else None

    def leave(self, session: str) -> None:
        """Ends what a session's page has requested or asked, because it shows something else now.

        What its connections request ends when these say so.
        """
        self._results.leave(session)

    def answer_progress(self, question: Question[Value], cfg: RunConfig, **args: Any) -> float:
        """The done share of an answer, from 0 to 1."""
        with self._results.lock, suppress(ValueError):  # a question that is too long is never asked
            return self._results.progress.get(question_message(question, cfg, args)["key"], 0.0)
        return 0.0

    def cancel(self, question: Question[Value], cfg: RunConfig, **args: Any) -> None:
        with self._results.lock, suppress(ValueError):
            self._results.cancel(question_message(question, cfg, args)["key"])

    def close(self) -> None:
        """Ends the worker and waits for it, a few seconds at most. The logs in memory stay readable."""
        with self._results.lock:
            self._closing.set()
            self.begin()
            self._give_up(SENTENCES["closed"])
            self._results.load_rows()
            worker = self._worker
        if worker is not None:
            worker.close()
        self._thread.join(timeout=5)
        close_folder(self.runs)

    def _expire(self) -> None:
        """Ends demand past its deadline, in a thread of its own."""
        while not self._closing.wait(EXPIRY_SECONDS):
            self._results.expire()

    def _post(self, message: Message) -> None:
        """Sends a message to the worker. Without one the message is dropped, because `resend` sends all again."""
        if self._ready_worker is not None:
            self._ready_worker.post(message)

    def _give_up(self, sentence: str) -> None:
        self._status = Status("failed", sentence)
        self._results.clear_demand()

    def _supervise(self) -> None:
        """Starts the worker, reads its messages, and restarts it when it ends, in a thread of its own.

        After FAILURE_LIMIT failures in a row, the trainer counts as failed and tries again every RETRY_SECONDS.
        """
        self._needed.wait(self._start_delay)
        while not self._closing.is_set():
            ending = self._run_worker()
            with self._results.lock:
                self._ready_worker = self._worker = None
                if self._closing.is_set():
                    return
                event("trainer_ended", logging.WARNING, how=ending, failures=self._failures)
                given_up = self._failures >= FAILURE_LIMIT
                if given_up:
                    event("trainer_given_up", logging.ERROR)
                    self._give_up(SENTENCES["given up"].format(times=self._failures, ending=ending, rest=RETRY_SECONDS))
                else:
                    self._results.record_worker_death(had_work=self._status.state == "ready")
                    self._status = Status("restarting", SENTENCES["restarting"].format(ending=ending), ending=ending)
            delay = self.back_off[min(max(self._failures, 1), len(self.back_off)) - 1]
            self._closing.wait(RETRY_SECONDS if given_up else delay)

    def _run_worker(self) -> str:
        """Runs one worker until it ends; returns how it ended, in words.

        It counts as a failure unless it was ready for STABLE_SECONDS.
        """
        self._ready_at = float("inf")
        try:
            worker = WorkerProcess(self.command, self.runs)
        except OSError as error:
            self._failures += 1
            return f"because {self.command[0]} did not start ({error.strerror})"
        with self._results.lock:
            self._worker = worker
            if self._closing.is_set():
                worker.post(None)
        misunderstanding = ""
        try:
            for message in worker.messages():
                self._receive(message, worker)
        except Exception as error:  # without this message the logs would have gaps, so another worker starts again
            event("trainer_not_understood", logging.ERROR, **error_facts(error))
            misunderstanding = "because one of its messages was not understood"
        ending = worker.ending()
        is_stable = time.monotonic() - self._ready_at > STABLE_SECONDS
        self._failures = 0 if is_stable else self._failures + 1
        return misunderstanding or ending

    def _receive(self, message: Message, worker: WorkerProcess) -> None:
        """Applies a message of the worker. Its first, "ready", is answered with all requests and questions."""
        if message["kind"] != "ready":
            self._results.handle_message(message)
            return
        self._ready_at = time.monotonic()
        slowdowns, versions, devices = message["machine"], message["versions"], tuple(message["devices"])
        set_machine(Machine(**slowdowns))
        facts = {f"slower_{part}": factor for part, factor in slowdowns.items()} | versions
        event("trainer_ready", pid=message["pid"], devices=",".join(devices), **facts)
        with self._results.lock:
            if not self._closing.is_set():
                self._status = Status(
                    "ready", SENTENCES["ready"], versions, devices, message["pid"], self._status.ending
                )
                self._ready_worker = worker  # only now: if it dies before, no work of ours killed it
                self._results.resend()


# A reload of this module (an editor saves it) must find the running trainer, so it is stored on `sys`.
_slot: dict[str, Any] = sys.__dict__.setdefault(
    "_add_norm_playground", {"lock": threading.RLock(), "loads": itertools.count(1), "trainer": None, "load": 0}
)
_load = next(_slot["loads"])


def trainer() -> Trainer:
    """The trainer of this process, started on the first call; a reload of this module replaces it."""
    with _slot["lock"]:
        if _slot["trainer"] is None or _slot["load"] < _load:
            close_trainer()
            _slot["trainer"], _slot["load"] = Trainer(start_delay=FIRST_PAGE_SECONDS), _load
        current: Trainer = _slot["trainer"]
        return current


def close_trainer() -> None:
    """Ends the trainer of this process, if there is one."""
    with _slot["lock"]:
        current, _slot["trainer"] = _slot["trainer"], None
        if current is not None:
            current.close()
