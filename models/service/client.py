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
from models.log import event, told
from models.service.demand import NOBODY, Requester
from models.service.interface import REQUEST_SECONDS, SENTENCES, Answer, Status
from models.service.messages import config_from, key_of, log_key
from models.service.recorded import recorded
from models.service.result_cache import LOG_BYTES, ResultCache, question_message
from models.service.runs import close_folder, open_folder
from models.service.wanted import WantedLog
from models.service.wire import Message
from models.service.worker_process import WorkerProcess
from models.spec import RunConfig
from models.spec.budget import Machine, calibrated

__all__ = [
    "Answer",
    "Requester",
    "Status",
    "Trainer",
    "WantedLog",
    "close_trainer",
    "config_from",
    "key_of",
    "log_key",
    "question_message",
    "trainer",
]

COMMAND = (sys.executable, "-m", "models.service.worker")
BACK_OFF = (0.5, 1.0, 2.0, 4.0)
FAILURE_LIMIT, REST_SECONDS = 5, 60.0  # failures in a row after which a worker is tried only so often
SETTLED_SECONDS = 5.0
FIRST_PAGE_SECONDS = 3.0  # in which a new server draws a page; torch, loading meanwhile, would slow it by a sixth
EXPIRY_SECONDS = 0.25  # between two looks at who still wants what


class Trainer:
    """The source of logs and answers: one worker process, restarted when it dies. Safe to use from many threads.

    Only `ask` blocks, for at most its `wait` seconds. `back_off`: seconds to wait before each restart in a row;
    `rest`: before the first start, which comes at once when something is wanted that is not recorded, or by `begin`;
    `runs`: the folder of run logs.
    """

    def __init__(
        self,
        command: Sequence[str] = COMMAND,
        back_off: Sequence[float] = BACK_OFF,
        rest: float = 0.0,
        runs: Path | None = None,
    ) -> None:
        self.command, self.back_off = command, back_off
        self.runs = runs or open_folder(LOG_BYTES)
        self._results = ResultCache(self.runs, self._post)
        self._running: WorkerProcess | None = None
        self._connection: WorkerProcess | None = None  # the same, once it is ready
        self._failures = 0
        self._ready_at = float("inf")
        self._status = Status("starting", SENTENCES["starting"])
        self._closing = threading.Event()
        self._rest, self._needed = rest, threading.Event()
        self._thread = threading.Thread(target=self._supervise, name="trainer", daemon=True)
        self._thread.start()
        threading.Thread(target=self._expire, name="trainer demand", daemon=True).start()

    def begin(self) -> None:
        """Starts the worker, if it rests before its first start."""
        self._needed.set()

    def status(self) -> Status:
        """The state of the trainer."""
        with self._results.lock:  # whoever hears that the trainer has failed finds no wish left
            if not (self._thread.is_alive() or self._closing.is_set()):
                return Status("failed", SENTENCES["unattended"])
            return self._status

    def busy(self) -> tuple[int, int]:
        """How many runs are being trained, and how many wait in the queue."""
        with self._results.lock:
            waiting = len(self._results.queue)
            return len(self._results.wanted()) - waiting, waiting

    def log(self, cfg: RunConfig, seeds: int = 1) -> WantedLog:
        """The log of a configuration as far as it is known, for `seeds` seeds from its own up. Starts no training."""
        return self._results.log(cfg, seeds)

    def want(
        self,
        cfg: RunConfig,
        until: int,
        seconds: float = REQUEST_SECONDS,
        seeds: int = 1,
        owner: Requester | None = None,
    ) -> WantedLog:
        """Asks for `until` rows for the next `seconds`; repeated while somebody watches. With no more rows than there
        are already, it ends what this owner asked for. After an error it is tried again, but not at once.

        A session trains for one screen at a time: what it wanted for another screen than this owner's ends at once.
        """
        with self._results.lock:
            log = self._results.kept(cfg, seeds)
            if until <= log.length:
                log.demand.end(owner or NOBODY)
                self._results.aim()
            elif not (log.done or log.resting or self.status().state == "failed"):
                self._results.want(log, owner or NOBODY, until, seconds)
                self.begin()
            return log

    def listen(self, hear: Callable[[str], None]) -> None:
        """Calls `hear`, which must return at once, with the key of each log or answer that changes; empty: any."""
        with self._results.lock:
            self._results.listeners.append(hear)

    def place(self, log: WantedLog) -> int:
        """A log's place in the queue, from 1; 0 if it does not wait."""
        return self._results.place(log)

    def ask(
        self, question: Question[Value], cfg: RunConfig, wait: float = 0.0, owner: Requester | None = None, **args: Any
    ) -> Answer[Value] | None:
        """The answer to a question of `models.answers`, or None if it is not there within `wait` seconds.

        A long answer is worked on only while the question is repeated, and while its session stays on this screen.
        Identical open questions are sent once.
        """
        who = owner or NOBODY
        try:
            message = question_message(question, cfg, args, who)
        except ValueError as too_long:
            return Answer(None, str(too_long))
        key, results = message["key"], self._results
        with results.lock:
            results.turn_to(who, {key}, {other: asked.demand for other, asked in results.open.items()})
            answer = results.answer(key, question)
            if answer is None and self.status().state != "failed":
                results.ask(message, who, max(REQUEST_SECONDS, wait))
                if wait or question is not OPENED or recorded(cfg) is None:
                    self.begin()
            results.aim()
            if answer is None and wait > 0:
                results.changed.wait_for(lambda: key not in results.open, wait)
                answer = results.answer(key, question)
            if answer is None and (status := self.status()).state == "failed":
                return Answer(None, status.sentence)
            return answer

    def opened(
        self, cfg: RunConfig, seeds: int = 1, wait: float = 0.0, owner: Requester | None = None
    ) -> Answer[WantedLog] | None:
        """The log of a configuration with its row 0 at least, or None if that is not there within `wait` seconds.

        Trains nothing.
        """
        with self._results.lock:
            log = self._results.log(cfg, seeds)
            if not log.length:
                log = self._results.kept(cfg, seeds)
                answer = self.ask(OPENED, cfg, wait, owner, seeds=seeds)
                if answer is None or answer.error:
                    return Answer(None, answer.error) if answer else None
                self._results.forget(OPENED, cfg, {"seeds": seeds})  # the log is the answer
                log.read()
            return Answer(log) if log.length else None

    def share(self, question: Question[Value], cfg: RunConfig, **args: Any) -> float:
        """How much of an answer is done, from 0 to 1."""
        with self._results.lock, suppress(ValueError):  # one that is too long is never asked
            return self._results.shares.get(question_message(question, cfg, args)["key"], 0.0)
        return 0.0

    def cancel(self, question: Question[Value], cfg: RunConfig, **args: Any) -> None:
        """Withdraws a question."""
        with self._results.lock, suppress(ValueError):
            self._results.cancel(question_message(question, cfg, args)["key"])

    def close(self) -> None:
        """Ends the worker and waits for it, a few seconds at most. What was read of runs stays readable."""
        with self._results.lock:
            self._closing.set()
            self.begin()
            self._give_up(SENTENCES["closed"])
            self._results.hold()
            connection = self._running
        if connection is not None:
            connection.close()
        self._thread.join(timeout=5)
        close_folder(self.runs)

    def _expire(self) -> None:
        """The thread that ends demand past its deadline."""
        while not self._closing.wait(EXPIRY_SECONDS):
            self._results.expire()

    def _post(self, message: Message) -> None:
        """Sends a message to the worker; dropped while there is none, because `resend` tells a new one everything."""
        if self._connection is not None:
            self._connection.post(message)

    def _give_up(self, sentence: str) -> None:
        self._status = Status("failed", sentence)
        self._results.give_up()

    def _supervise(self) -> None:
        """The thread of this trainer: starts the worker, files what it sends, and restarts it when it ends.

        After FAILURE_LIMIT failures in a row it is given up and, from then on, started once in REST_SECONDS.
        """
        self._needed.wait(self._rest)
        while not self._closing.is_set():
            ending = self._live()
            with self._results.lock:
                self._connection = self._running = None
                if self._closing.is_set():
                    return
                event("trainer_ended", logging.WARNING, how=ending, failures=self._failures)
                given_up = self._failures >= FAILURE_LIMIT
                if given_up:
                    event("trainer_given_up", logging.ERROR)
                    self._give_up(SENTENCES["given up"].format(times=self._failures, ending=ending, rest=REST_SECONDS))
                else:
                    self._results.worker_lost(at_work=self._status.state == "ready")
                    self._status = Status("restarting", SENTENCES["restarting"].format(ending=ending), ending=ending)
            rest = self.back_off[min(max(self._failures, 1), len(self.back_off)) - 1]
            self._closing.wait(REST_SECONDS if given_up else rest)

    def _live(self) -> str:
        """Runs one life of the worker; returns how it ended, in words. Only a life that never settled is a failure."""
        self._ready_at = float("inf")
        try:
            connection = WorkerProcess(self.command, self.runs)
        except OSError as error:
            self._failures += 1
            return f"because {self.command[0]} did not start ({error.strerror})"
        with self._results.lock:
            self._running = connection
            if self._closing.is_set():
                connection.post(None)
        ending = ""
        try:
            for message in connection.messages():
                self._hear(message, connection)
        except Exception as error:  # what it sent cannot be filed, so its logs would have gaps: it begins anew
            event("trainer_not_understood", logging.ERROR, **told(error))
            ending = "because one of its messages was not understood"
        ended = connection.ending()
        settled = time.monotonic() - self._ready_at > SETTLED_SECONDS
        self._failures = 0 if settled else self._failures + 1
        return ending or ended

    def _hear(self, message: Message, connection: WorkerProcess) -> None:
        """Files a message of the worker; the first one, "ready", is answered with everything that is wanted."""
        if message["kind"] != "ready":
            return self._results.apply(message)
        self._ready_at = time.monotonic()
        speed = message["machine"]
        calibrated(Machine(**speed))
        known = {f"slower_{what}": times for what, times in speed.items()} | message["versions"]
        event("trainer_ready", pid=message["pid"], devices=",".join(message["devices"]), **known)
        with self._results.lock:
            if not self._closing.is_set():
                known = message["versions"], tuple(message["devices"]), message["pid"]
                self._status = Status("ready", SENTENCES["ready"], *known, ending=self._status.ending)
                self._connection = connection  # no sooner: what it dies over is known by what it was told
                self._results.resend()
        return None


# When this module is reloaded (an editor saves it), it must find the existing trainer, so it is kept on `sys`.
_slot: dict[str, Any] = sys.__dict__.setdefault(
    "_add_norm_playground", {"lock": threading.RLock(), "loads": itertools.count(1), "trainer": None, "load": 0}
)
_load = next(_slot["loads"])


def trainer() -> Trainer:
    """The trainer of this process, started on the first call; a reload of this module replaces it."""
    with _slot["lock"]:
        if _slot["trainer"] is None or _slot["load"] < _load:
            close_trainer()
            _slot["trainer"], _slot["load"] = Trainer(rest=FIRST_PAGE_SECONDS), _load
        kept: Trainer = _slot["trainer"]
        return kept


def close_trainer() -> None:
    """Ends the trainer of this process, if there is one."""
    with _slot["lock"]:
        kept, _slot["trainer"] = _slot["trainer"], None
        if kept is not None:
            kept.close()
