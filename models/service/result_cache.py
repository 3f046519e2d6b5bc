"""Logs and answers that the web process keeps, both bounded in bytes."""

import json
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from threading import Condition, RLock
from typing import Any

from models.answers import Question, Value
from models.service.demand import NOBODY, Demand, Requester
from models.service.interface import Answer
from models.service.messages import log_key, unpacked
from models.service.wanted import WantedLog
from models.service.wire import Message, size
from models.spec import RunConfig
from models.spec.bounds import MAX_QUESTION_BYTES

LOG_BYTES = 256 * 2**20
ANSWER_BYTES = 64 * 2**20
MAX_ERRORS, MAX_ERROR = 256, 1000  # answers without a value that are kept, and characters of each
LIVES = 2  # deaths of the worker after which the work it died over is given up


@dataclass
class OpenQuestion:
    """A question without an answer yet: its message to the worker, who wants it, and how often it killed the worker."""

    message: Message
    demand: Demand = field(default_factory=Demand)
    deaths: int = 0


class ResultCache:
    """Logs and answers by key, the least recently used dropped first, and who wants them. Callers hold `lock`.

    `runs`: the folder of run logs. `post` takes the messages to the worker: requests, questions, and what is cancelled.
    `errors`: answers without a value, kept just long enough to be shown to whoever asked.
    """

    def __init__(
        self,
        runs: Path,
        post: Callable[[Message], None] = lambda _message: None,
        log_bytes: int = LOG_BYTES,
        answer_bytes: int = ANSWER_BYTES,
    ) -> None:
        self.runs, self.post = runs, post
        self.log_bytes, self.answer_bytes = log_bytes, answer_bytes
        self.lock = RLock()
        self.changed = Condition(self.lock)
        self.logs: OrderedDict[str, WantedLog] = OrderedDict()
        self.answers: OrderedDict[str, Answer[Any]] = OrderedDict()
        self.errors: OrderedDict[str, Answer[Any]] = OrderedDict()
        self.at = ""  # the question that the worker works on now
        self.requested: dict[str, WantedLog] = {}  # logs with requests
        self.open: dict[str, OpenQuestion] = {}
        self.queue: list[str] = []  # runs that wait for a place, the next first
        self.shares: dict[str, float] = {}  # how much of the answer to an open question is done
        self.listeners: list[Callable[[str], None]] = []

    def log(self, cfg: RunConfig, seeds: int = 1) -> WantedLog:
        """The log of a configuration; an empty one, which is not kept, if it was never wanted or has been dropped."""
        key = log_key(cfg, seeds)
        with self.lock:
            if key not in self.logs:
                return WantedLog(cfg, key, seeds, self.runs)
            self.logs.move_to_end(key)
            return self.logs[key]

    def kept(self, cfg: RunConfig, seeds: int = 1) -> WantedLog:
        """The log of a configuration, which enters the cache: for callers that may have it trained."""
        log = self.log(cfg, seeds)
        self.logs[log.key] = log
        self._drop_logs()
        return log

    def wanted(self) -> list[WantedLog]:
        """The logs of which somebody wants more rows."""
        return [log for log in self.requested.values() if log.wanted]

    def want(self, log: WantedLog, who: Requester, until: int, seconds: float) -> None:
        """Records that `who` wants rows of a log for the next `seconds`; all steps include the closing row."""
        self.turn_to(who, {log.key} | who.runs, {key: other.demand for key, other in self.requested.items()})
        log.demand.want(who, min(until, log.cfg.steps), seconds)
        self.requested[log.key] = log
        self.aim()

    def ask(self, message: Message, who: Requester, seconds: float) -> None:
        """Records that `who` wants an answer for the next `seconds`; sends the question unless it is open already."""
        if new := message["key"] not in self.open:
            self.open[message["key"]] = OpenQuestion(message)
        self.open[message["key"]].demand.want(who, 1, seconds)
        if new:
            self.post(message)

    def turn_to(self, who: Requester, keys: Collection[str], demands: Mapping[str, Demand]) -> None:
        """Ends what the session of `who` wanted for another screen, and for this part of its screen except `keys`."""
        if who.session:
            for key, demand in demands.items():
                demand.turn_away(who, shown=key in keys)

    def aim(self) -> None:
        """Sends the worker the requests that have changed, and cancels questions that nobody wants any more."""
        for key, question in list(self.open.items()):
            if not question.demand.requests:
                self.cancel(key)
        for key, log in list(self.requested.items()):
            requests = log.demand.requests
            if not requests:
                del self.requested[key]
            if requests != log.told:
                log.told = requests
                query = log.cfg.to_query()
                self.post({"kind": "requests", "key": key, "query": query, "seeds": log.seeds, "requests": requests})

    def expire(self) -> None:
        """Ends demand past its deadline."""
        with self.lock:
            for log in self.requested.values():
                log.demand.expire()
            for question in self.open.values():
                question.demand.expire()
            self.aim()

    def cancel(self, key: str) -> None:
        """Forgets a question, and stops the worker's work on it."""
        self.drop(key)
        self.post({"kind": "cancel", "key": key})

    def resend(self) -> None:
        """Sends a new worker everything that is wanted."""
        for log in self.requested.values():
            log.told = ()
        self.aim()
        for question in self.open.values():
            self.post(question.message)

    def answer(self, key: str, question: Question[Value]) -> Answer[Value] | None:
        """The answer to a question, if it is here."""
        if key in self.errors:
            return None if self.errors[key].stale else self.errors[key]
        answer = self.answers.get(key)
        if answer is None:
            return None
        if not isinstance(answer.value, question.answer):
            answer = self.answers[key] = replace(answer, value=unpacked(question.answer, answer.value))
        self.answers.move_to_end(key)
        return answer

    def hold(self) -> None:
        """Keeps the rows of all logs readable once their files are gone."""
        for log in self.logs.values():
            log.rows()

    def forget(self, question: Question[Any], cfg: RunConfig, args: dict[str, Any]) -> None:
        """Forgets the answer to a question."""
        self.answers.pop(question_message(question, cfg, args)["key"], None)

    def apply(self, message: Message) -> None:
        """Files a message from the engine."""
        with self.lock:
            if message["kind"] == "at":
                self.at = message["key"]
                return
            if message["kind"] == "answer":
                self._file(message["key"], message["value"], message["error"])
            elif message["kind"] == "answering":
                if message["key"] in self.open:  # else it was sent before the worker heard that nobody waits any more
                    self.shares[message["key"]] = message["share"]
            elif message["kind"] == "queue":
                self.queue = message["keys"]
            elif message["kind"] == "dropped":
                self.drop(message["key"])
            elif message["kind"] == "forgotten":  # it has too many; it hears of this one when it is wanted again
                if (log := self.requested.pop(message["key"], None)) is not None:
                    log.told = ()
            elif (log := self.logs.get(message["key"])) is not None:
                if message["kind"] == "progress":
                    log.progress(message)
                else:
                    log.fail(message["sentence"])
                self._drop_logs()
            self._tell(message.get("key", ""))

    def drop(self, key: str) -> None:
        """Forgets a question."""
        self.open.pop(key, None)
        self.shares.pop(key, None)

    def place(self, log: WantedLog) -> int:
        """A log's place in the queue, from 1; 0 if it does not wait."""
        with self.lock:
            return self.queue.index(log.key) + 1 if log.key in self.queue and log.wanted else 0

    def give_up(self) -> None:
        """Forgets all demand: nothing more will be computed."""
        with self.lock:
            self.queue = []
            self.open.clear()
            self.shares.clear()
            for log in self.requested.values():
                log.demand.clear()
            self._tell()

    def worker_lost(self, at_work: bool) -> None:
        """Notes the death of the worker; gives up work over which it died LIVES times, as that may be what kills it.

        If it had said which question it was at, that one counts, else everything that is wanted. `at_work`: whether
        it had been sent any work at all.
        """
        with self.lock:
            self.queue, at, self.at = [], self.at, ""
            asked = {at: self.open[at]} if at in self.open else dict(self.open)
            for log in self.wanted():
                log.worker_lost(at_work and at not in self.open)
                if log.deaths >= LIVES:
                    log.fail(f"The trainer died {LIVES} times while this run was wanted; a smaller one may help.")
                    log.deaths = 0
            for key, question in asked.items():
                question.deaths += at_work
                if question.deaths >= LIVES:
                    self._file(key, None, f"The trainer died {LIVES} times over this question; a smaller net may help.")
            self._tell()

    def _tell(self, key: str = "") -> None:
        """Wakes all waiting threads, and tells the listeners which key has changed; an empty key stands for any."""
        self.changed.notify_all()
        for hear in self.listeners:
            hear(key)

    def _file(self, key: str, value: Any, error: str) -> None:
        self.drop(key)
        self.answers.pop(key, None)
        self.errors.pop(key, None)
        if error:
            self.errors[key] = Answer(None, error if len(error) <= MAX_ERROR else f"{error[:MAX_ERROR]} ...")
            while len(self.errors) > MAX_ERRORS:
                self.errors.popitem(last=False)
            return
        self.answers[key] = Answer(value, nbytes=size(value) + size(key))
        held = sum(kept.nbytes for kept in self.answers.values())
        while held > self.answer_bytes and len(self.answers) > 1:
            held -= self.answers.popitem(last=False)[1].nbytes

    def _drop_logs(self) -> None:
        """Drops logs to make room, untrained ones first, but none in training: it would be computed again."""
        held = sum(log.size + log.nbytes for log in self.logs.values())
        if held <= self.log_bytes:
            return
        for key, log in sorted(list(self.logs.items())[:-1], key=lambda held: held[1].trained):
            if held > self.log_bytes and not log.wanted:
                held -= log.size + log.nbytes
                del self.logs[key]
                log.delete()


def question_message(
    question: Question[Any], cfg: RunConfig, args: dict[str, Any], owner: Requester = NOBODY
) -> Message:
    """The message of a question to the engine; equal questions have equal keys.

    ValueError, before anything is made of it, if its configuration and arguments are longer than MAX_QUESTION_BYTES.
    """
    query = cfg.to_query()
    if size(query) + size(args) > MAX_QUESTION_BYTES:
        raise ValueError(
            f"this question is too long: its settings and texts have more than {MAX_QUESTION_BYTES:,} bytes"
        )
    key = sha256(json.dumps([question.name, query, args], sort_keys=True).encode()).hexdigest()
    who = {"session": owner.session, "address": owner.address}
    return {"kind": "ask", "key": key, "question": question.name, "query": query, "args": args, **who}
