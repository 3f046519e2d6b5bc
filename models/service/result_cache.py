"""Logs and answers that the web process keeps, both bounded in bytes."""

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from threading import Condition, RLock
from typing import Any

from models.answers import Question, Value
from models.runlog import delete_log
from models.service.demand import NOBODY, Demand, Requester
from models.service.interface import Answer
from models.service.messages import log_key, unpacked
from models.service.requested_log import RequestedLog
from models.service.wire import Message, size
from models.spec import RunConfig
from models.spec.bounds import MAX_QUESTION_BYTES

LOG_BYTES = 256 * 2**20  # of files
LOG_MEMORY_BYTES = 96 * 2**20
ANSWER_BYTES = 64 * 2**20
MAX_ERRORS, MAX_ERROR_LENGTH = 256, 1000  # answers without a value, and characters of each
MAX_DEATHS = 2  # deaths of the worker after which the work that may have killed it is given up


@dataclass
class OpenQuestion:
    """A question without an answer: its message to the worker, its demand, and how often the worker died over it.

    `asked_at`: when it was first asked (monotonic seconds).
    """

    message: Message
    demand: Demand = field(default_factory=Demand)
    deaths: int = 0
    asked_at: float = field(default_factory=time.monotonic)


class ResultCache:
    """Logs and answers by key, the least recently used dropped first, and the demand for them. Callers hold `lock`.

    `logs`: those in memory; `log` moves one without the lock, so loops run over a copy. `stored`: bytes of the files
    of logs that were dropped from memory, by folder.
    `runs`: the folder of run logs. `post` takes the messages to the worker: requests, questions and cancellations.
    `errors`: answers without a value; they expire, so that the question can be asked again.
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
        self.log_memory_bytes = min(log_bytes, LOG_MEMORY_BYTES)
        self.stored: OrderedDict[Path, int] = OrderedDict()
        self.lock = RLock()
        self.changed = Condition(self.lock)
        self.logs: OrderedDict[str, RequestedLog] = OrderedDict()
        self.answers: OrderedDict[str, Answer[Any]] = OrderedDict()
        self.errors: OrderedDict[str, Answer[Any]] = OrderedDict()
        self.current_question = ""  # key of the question that the worker works on
        self.requested: dict[str, RequestedLog] = {}  # logs with requests
        self.open_questions: dict[str, OpenQuestion] = {}
        self.queue: list[str] = []  # keys of runs that wait for a place, the next first
        self.progress: dict[str, float] = {}  # done share of the answer to each open question
        self.listeners: list[Callable[[str], None]] = []

    def log(self, cfg: RunConfig, seeds: int = 1) -> RequestedLog:
        """The log of a configuration; an empty one outside the cache if it was never requested or has been deleted."""
        key = log_key(cfg, seeds)
        with suppress(KeyError):  # both steps are indivisible; at the lock all pages of a class would queue
            self.logs.move_to_end(key)
            return self.logs[key]
        with self.lock:
            if key in self.logs:
                return self.logs[key]
            log = RequestedLog(cfg, key, seeds, self.runs)
            if log.length:  # else every look would read the files again
                self._keep_log(log)
            return log

    def add_log(self, cfg: RunConfig, seeds: int = 1) -> RequestedLog:
        """The log of a configuration, added to the cache: for callers that may have it trained."""
        log = self.log(cfg, seeds)
        self._keep_log(log)
        return log

    def unfinished_logs(self) -> list[RequestedLog]:
        return [log for log in self.requested.values() if log.is_requested]

    def request_rows(self, log: RequestedLog, requester: Requester, until: int, seconds: float) -> None:
        """Requests `until` rows of a log for the next `seconds`; a request for all steps includes the closing row."""
        demands = {key: other.demand for key, other in self.requested.items()}
        self.end_hidden_demand(requester, {log.key} | requester.runs, demands)
        log.demand.add(requester, min(until, log.cfg.steps), seconds)
        self.requested[log.key] = log
        self.sync_requests()

    def ask(self, message: Message, requester: Requester, seconds: float) -> None:
        """Requests an answer for the next `seconds`; sends the question unless it is open already."""
        if is_new := message["key"] not in self.open_questions:
            self.open_questions[message["key"]] = OpenQuestion(message)
        self.open_questions[message["key"]].demand.add(requester, 1, seconds)  # a question has one row
        if is_new:
            self.post(message)

    def end_hidden_demand(
        self, requester: Requester, shown_keys: Collection[str], demands: Mapping[str, Demand]
    ) -> None:
        """Ends a session's demand from its other screens, and from this part of its screen except for `shown_keys`."""
        if requester.session:
            for key, demand in demands.items():
                demand.end_hidden(requester, is_shown=key in shown_keys)

    def leave(self, session: str) -> None:
        """Ends all that a session's pages have requested or asked."""
        with self.lock:
            logs, questions = self.requested.values(), self.open_questions.values()
            for demand in [log.demand for log in logs] + [question.demand for question in questions]:
                demand.end_of_pages(session)
            self.sync_requests()

    def sync_requests(self) -> None:
        """Sends the worker the requests that have changed, and cancels questions without demand."""
        for key, question in list(self.open_questions.items()):
            if not question.demand.requests:
                self.cancel(key)
        for key, log in list(self.requested.items()):
            requests = log.demand.requests
            if not requests:
                del self.requested[key]
            if requests != log.sent_requests:
                log.sent_requests = requests
                query = log.cfg.to_query()
                self.post({"kind": "requests", "key": key, "query": query, "seeds": log.seeds, "requests": requests})

    def expire(self) -> None:
        """Ends demand past its deadline."""
        with self.lock:
            for log in self.requested.values():
                log.demand.expire()
            for question in self.open_questions.values():
                question.demand.expire()
            self.sync_requests()

    def cancel(self, key: str) -> None:
        self.drop_question(key)
        self.post({"kind": "cancel", "key": key})

    def resend(self) -> None:
        """Sends a new worker all requests and open questions."""
        for log in self.requested.values():
            log.sent_requests = ()
        self.sync_requests()
        for question in self.open_questions.values():
            self.post(question.message)

    def answer(self, key: str, question: Question[Value]) -> Answer[Value] | None:
        """The answer to a question; None if it has not arrived."""
        if key in self.errors:
            return None if self.errors[key].is_stale else self.errors[key]
        answer = self.answers.get(key)
        if answer is None:
            return None
        if not isinstance(answer.value, question.answer):
            answer = self.answers[key] = replace(answer, value=unpacked(question.answer, answer.value))
        self.answers.move_to_end(key)
        return answer

    def load_rows(self) -> None:
        """Reads the rows of all logs, so that they stay available once the files are deleted."""
        for log in list(self.logs.values()):
            log.read()

    def handle_message(self, message: Message) -> None:
        """Stores the content of a message from the worker."""
        key = message.get("key", "")
        with self.lock:
            match message["kind"]:
                case "at":
                    self.current_question = key
                    return
                case "answer":
                    self._store_answer(key, message["value"], message["error"])
                case "answering":
                    if key in self.open_questions:  # else the message crossed with a cancellation
                        self.progress[key] = message["share"]
                case "queue":
                    self.queue = message["keys"]
                case "dropped":
                    self.drop_question(key)
                case "forgotten":  # the worker has too many runs; the next request tells it of this one
                    if (log := self.requested.pop(key, None)) is not None:
                        log.sent_requests = ()
                case kind if (log := self.logs.get(key)) is not None:
                    if kind == "progress":
                        log.read_progress(message)
                    else:
                        log.fail(message["sentence"])
                    self._drop_logs()
            self._notify(key)

    def drop_question(self, key: str) -> None:
        self.open_questions.pop(key, None)
        self.progress.pop(key, None)

    def queue_position(self, log: RequestedLog) -> int:
        with self.lock:
            return self.queue.index(log.key) + 1 if log.key in self.queue and log.is_requested else 0

    def clear_demand(self) -> None:
        """Forgets all demand: nothing more will be computed."""
        with self.lock:
            self.queue = []
            self.open_questions.clear()
            self.progress.clear()
            for log in self.requested.values():
                log.demand.clear()
            self._notify()

    def record_worker_death(self, had_work: bool) -> None:
        """Gives up work over which the worker has died MAX_DEATHS times.

        If the worker had announced a question, that question is the suspect, else all questions and requested runs
        are. `had_work`: whether the worker had been sent any work.
        """
        with self.lock:
            self.queue = []
            announced, self.current_question = self.current_question, ""
            has_announced = announced in self.open_questions
            suspects = {announced: self.open_questions[announced]} if has_announced else dict(self.open_questions)
            for log in self.unfinished_logs():
                log.record_worker_death(had_work and not has_announced)
                if log.deaths >= MAX_DEATHS:
                    log.fail(f"The trainer died {MAX_DEATHS} times while this run was wanted; a smaller one may help.")
                    log.deaths = 0
            for key, question in suspects.items():
                question.deaths += had_work
                if question.deaths >= MAX_DEATHS:
                    error = f"The trainer died {MAX_DEATHS} times over this question; a smaller net may help."
                    self._store_answer(key, None, error)
            self._notify()

    def _notify(self, key: str = "") -> None:
        """Wakes all waiting threads, and tells the listeners which key has changed; an empty key stands for any."""
        self.changed.notify_all()
        for listener in self.listeners:
            listener(key)

    def _store_answer(self, key: str, value: Any, error: str) -> None:
        self.drop_question(key)
        self.answers.pop(key, None)
        self.errors.pop(key, None)
        if error:
            is_short = len(error) <= MAX_ERROR_LENGTH
            self.errors[key] = Answer(None, error if is_short else f"{error[:MAX_ERROR_LENGTH]} ...")
            while len(self.errors) > MAX_ERRORS:
                self.errors.popitem(last=False)
            return
        self.answers[key] = Answer(value, nbytes=size(value) + size(key))
        total_bytes = sum(answer.nbytes for answer in self.answers.values())
        while total_bytes > self.answer_bytes and len(self.answers) > 1:
            _, oldest = self.answers.popitem(last=False)
            total_bytes -= oldest.nbytes

    def _drop_logs(self) -> None:
        """Drops logs from memory, untrained ones first, then files. Requested logs and the newest stay."""
        logs = list(self.logs.values())
        memory_bytes = sum(log.size + log.nbytes for log in logs)
        if memory_bytes > self.log_memory_bytes:
            for log in sorted(logs[:-1], key=lambda log: log.trained):
                if memory_bytes > self.log_memory_bytes and not log.is_requested:
                    memory_bytes -= log.size + log.nbytes
                    del self.logs[log.key]
                    if log.trained:
                        self.stored[log.folder] = log.stored_bytes
                    else:
                        log.delete()
        file_bytes = sum(self.stored.values()) + sum(log.stored_bytes for log in list(self.logs.values()))
        while self.stored and file_bytes > self.log_bytes:
            folder, nbytes = self.stored.popitem(last=False)
            file_bytes -= nbytes
            delete_log(folder)

    def _keep_log(self, log: RequestedLog) -> None:
        self.logs[log.key] = log
        self.stored.pop(log.folder, None)
        self._drop_logs()


def question_message(
    question: Question[Any], cfg: RunConfig, args: dict[str, Any], owner: Requester = NOBODY
) -> Message:
    """The message of a question to the worker; equal questions have equal keys.

    ValueError, before anything is hashed, if configuration and arguments have more than MAX_QUESTION_BYTES.
    """
    query = cfg.to_query()
    if size(query) + size(args) > MAX_QUESTION_BYTES:
        raise ValueError(
            f"this question is too long: its settings and texts have more than {MAX_QUESTION_BYTES:,} bytes"
        )
    key = sha256(json.dumps([question.name, query, args], sort_keys=True).encode()).hexdigest()
    asker = {"session": owner.session, "address": owner.address}
    return {"kind": "ask", "key": key, "question": question.name, "query": query, "args": args} | asker
