"""Tapes and answers that the web process keeps, both bounded in bytes."""

import json
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from threading import Condition, RLock
from typing import Any

from models.answers import Question, Value
from models.log import event, told
from models.service.interface import Answer
from models.service.messages import tape_key, unpacked
from models.service.tape import RunHistory
from models.service.wire import Message, size
from models.service.wishes import NOBODY, Requester, RowRequest
from models.spec import RunConfig

TAPE_BYTES = 256 * 2**20
ANSWER_BYTES = 64 * 2**20
MOST_ERRORS, LONGEST_ERROR = 256, 1000  # answers without a value that are kept, and characters of each
LIVES = 2  # deaths of the worker after which the work it died over is given up
LONGEST_QUESTION = 2**16  # bytes of a question's configuration and arguments: eight times the longest that a page asks


class ResultCache:
    """Tapes and answers by key, the least recently used dropped first. Callers hold `lock`.

    `errors`: answers without a value, kept just long enough to be shown to whoever asked.
    """

    def __init__(self, tape_bytes: int = TAPE_BYTES, answer_bytes: int = ANSWER_BYTES) -> None:
        self.tape_bytes, self.answer_bytes = tape_bytes, answer_bytes
        self.lock = RLock()
        self.changed = Condition(self.lock)
        self.tapes: OrderedDict[str, RunHistory] = OrderedDict()
        self.answers: OrderedDict[str, Answer[Any]] = OrderedDict()
        self.errors: OrderedDict[str, Answer[Any]] = OrderedDict()
        self.at = ""  # the question that the worker works on now
        self.open: dict[str, Message] = {}
        self.queue: list[str] = []  # runs that wait for a place, the next first
        self.shares: dict[str, float] = {}  # how much of the answer to an open question is done
        self.listeners: list[Callable[[str], None]] = []
        self._deaf: set[Callable[[str], None]] = set()  # listeners that failed when they were last told

    def tape(self, cfg: RunConfig, seeds: int = 1) -> RunHistory:
        """The tape of a configuration; an empty one, which is not kept, if it was never wanted or has been dropped."""
        key = tape_key(cfg, seeds)
        with self.lock:
            if key not in self.tapes:
                return RunHistory(cfg, key, seeds)
            self.tapes.move_to_end(key)
            return self.tapes[key]

    def kept(self, cfg: RunConfig, seeds: int = 1) -> RunHistory:
        """The tape of a configuration, kept from now on: for whoever may have it trained."""
        with self.lock:
            tape = self.tape(cfg, seeds)
            self.tapes[tape.key] = tape
            self._drop_tapes()
            return tape

    def wanted(self) -> list[RunHistory]:
        """The tapes of which somebody wants more rows."""
        with self.lock:
            return [tape for tape in self.tapes.values() if tape.wanted]

    def answer(self, key: str, question: Question[Value]) -> Answer[Value] | None:
        """The answer to a question, if it is here."""
        with self.lock:
            if key in self.errors:
                return None if self.errors[key].stale else self.errors[key]
            answer = self.answers.get(key)
            if answer is None:
                return None
            if not isinstance(answer.value, question.answer):
                answer = self.answers[key] = replace(answer, value=unpacked(question.answer, answer.value))
            self.answers.move_to_end(key)
            return answer

    def apply(self, message: Message) -> None:
        """Files a message from the engine."""
        with self.lock:
            if message["kind"] == "at":
                self.at = message["key"]
                return
            if message["kind"] == "answer":
                self._file(message["key"], message["value"], message["error"])
            elif message["kind"] == "answering":
                self.shares[message["key"]] = message["share"]
            elif message["kind"] == "queue":
                self.queue = message["keys"]
            elif message["kind"] == "dropped":
                self.drop(message["key"])
            elif (tape := self.tapes.get(message["key"])) is not None:
                if message["kind"] == "progress":
                    tape.progress(message)
                else:
                    tape.fail(message["sentence"])
                self._drop_tapes()
            self._tell(message.get("key", ""))

    def drop(self, key: str) -> None:
        """Forgets a question that nobody waits for."""
        with self.lock:
            self.open.pop(key, None)
            self.shares.pop(key, None)

    def place(self, tape: RunHistory) -> int:
        """A tape's place in the queue, from 1; 0 if it does not wait."""
        with self.lock:
            return self.queue.index(tape.key) + 1 if tape.key in self.queue and tape.wanted else 0

    def give_up(self) -> None:
        """Forgets all wishes and questions, because nothing more will come."""
        with self.lock:
            self.queue = []
            self.open.clear()
            self.shares.clear()
            for tape in self.tapes.values():
                tape.wishes.clear()
            self._tell()

    def worker_lost(self, at_work: bool) -> None:
        """Notes the death of the worker; gives up work over which it died LIVES times, as that may be what kills it.

        That is the question that it said it was at, or else everything that is wanted. `at_work`: whether it had been
        sent any of that.
        """
        with self.lock:
            self.queue, at, self.at = [], self.at, ""
            asked = {at: self.open[at]} if at in self.open else dict(self.open)
            for tape in self.wanted():
                tape.worker_lost(at_work and at not in self.open)
                if tape.deaths >= LIVES:
                    tape.fail(f"The trainer died {LIVES} times while this run was wanted; a smaller one may help.")
                    tape.deaths = 0
            for key, question in asked.items():
                question["deaths"] = question.get("deaths", 0) + at_work
                if question["deaths"] >= LIVES:
                    self._file(key, None, f"The trainer died {LIVES} times over this question; a smaller net may help.")
            self._tell()

    def _tell(self, key: str = "") -> None:
        """Wakes all waiting threads, and tells the listeners which key has changed; an empty key stands for any.

        One that fails holds up nobody, and is logged once until it hears again.
        """
        self.changed.notify_all()
        for hear in self.listeners:
            try:
                hear(key)
                self._deaf.discard(hear)
            except Exception as error:
                if hear not in self._deaf:
                    event("listener_failed", logging.ERROR, **told(error))
                    self._deaf.add(hear)

    def _file(self, key: str, value: Any, error: str) -> None:
        self.drop(key)
        self.answers.pop(key, None)
        self.errors.pop(key, None)
        if error:
            self.errors[key] = Answer(None, error if len(error) <= LONGEST_ERROR else f"{error[:LONGEST_ERROR]} ...")
            while len(self.errors) > MOST_ERRORS:
                self.errors.popitem(last=False)
            return
        self.answers[key] = Answer(value, nbytes=size(value) + size(key))
        held = sum(kept.nbytes for kept in self.answers.values())
        while held > self.answer_bytes and len(self.answers) > 1:
            held -= self.answers.popitem(last=False)[1].nbytes

    def _drop_tapes(self) -> None:
        """Drops tapes to make room, those without a row first, but none in training: it would be computed again."""
        held = sum(tape.nbytes for tape in self.tapes.values())
        if held <= self.tape_bytes:
            return
        for key, tape in sorted(list(self.tapes.items())[:-1], key=lambda held: held[1].length > 0):
            if held > self.tape_bytes and not tape.wanted:
                held -= tape.nbytes
                del self.tapes[key]


def question_message(
    question: Question[Any], cfg: RunConfig, args: dict[str, Any], owner: Requester = NOBODY
) -> Message:
    """The message of a question to the engine; equal questions have equal keys.

    ValueError, before anything is made of it, if its configuration and arguments are longer than LONGEST_QUESTION.
    """
    query = cfg.to_query()
    if size(query) + size(args) > LONGEST_QUESTION:
        raise ValueError(f"this question is too long: its settings and texts have more than {LONGEST_QUESTION:,} bytes")
    key = sha256(json.dumps([question.name, query, args], sort_keys=True).encode()).hexdigest()
    who = {"session": owner.session, "address": owner.address}
    return {"kind": "ask", "key": key, "question": question.name, "query": query, "args": args, **who}


def want_message(tape: RunHistory, wish: RowRequest, connection: int) -> Message:
    """The message of a wish to the engine; on a new connection it says how many rows are here already."""
    since = None if tape.connection == connection else tape.length
    tape.connection = connection
    return {
        "kind": "want",
        "key": tape.key,
        "query": tape.cfg.to_query(),
        "seeds": tape.seeds,
        **wish._asdict(),
        "since": since,
    }
