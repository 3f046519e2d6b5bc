"""The shelf: tapes and answers that the web process keeps, both bounded in bytes."""

import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Condition, RLock
from typing import Any

from models.answers import Question, Value
from models.service.interface import Answer
from models.service.messages import tape_key, unpacked
from models.service.tape import Tape
from models.service.wire import Message, size
from models.spec import RunConfig

TAPE_BYTES = 256 * 2**20
ANSWER_BYTES = 64 * 2**20
LIVES = 3  # deaths of the worker after which the work it died over is given up


class Shelf:
    """Tapes and answers by key, the least recently used dropped first. Callers hold `lock`."""

    def __init__(self, tape_bytes: int = TAPE_BYTES, answer_bytes: int = ANSWER_BYTES) -> None:
        self.tape_bytes, self.answer_bytes = tape_bytes, answer_bytes
        self.lock = RLock()
        self.changed = Condition(self.lock)
        self.tapes: OrderedDict[str, Tape] = OrderedDict()
        self.answers: OrderedDict[str, Answer[Any]] = OrderedDict()
        self.open: dict[str, Message] = {}
        self.queue: list[str] = []  # runs that wait for a place, the next first
        self.shares: dict[str, float] = {}  # how much of the answer to an open question is done
        self.listeners: list[Callable[[str], None]] = []

    def tape(self, cfg: RunConfig, seeds: int = 1) -> Tape:
        """The tape of a configuration; empty if it was never wanted or has been dropped."""
        key = tape_key(cfg, seeds)
        with self.lock:
            tape = self.tapes.get(key)
            if tape is None:
                tape = self.tapes[key] = Tape(cfg, key, seeds)
                self._drop_tapes()
            self.tapes.move_to_end(key)
            return tape

    def wanted(self) -> list[Tape]:
        """The tapes of which somebody wants more rows."""
        with self.lock:
            return [tape for tape in self.tapes.values() if tape.wanted]

    def answer(self, key: str, question: Question[Value]) -> Answer[Value] | None:
        """The answer to a question, if it is here."""
        with self.lock:
            answer = self.answers.get(key)
            if answer is None or answer.stale:
                return None
            if answer.value is not None and not isinstance(answer.value, question.answer):
                answer = self.answers[key] = replace(answer, value=unpacked(question.answer, answer.value))
            self.answers.move_to_end(key)
            return answer

    def apply(self, message: Message) -> None:
        """Files a message from the engine."""
        with self.lock:
            if message["kind"] == "answer":
                self._file(message["key"], Answer(message["value"], message["error"], size(message["value"])))
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

    def place(self, tape: Tape) -> int:
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
        """Notes the death of the worker; gives up work over which it died LIVES times, as that may be what kills it."""
        with self.lock:
            self.queue = []
            for tape in self.wanted():
                tape.worker_lost(at_work)
                if tape.deaths >= LIVES:
                    tape.fail(f"The trainer died {LIVES} times while this run was wanted; a smaller one may help.")
                    tape.deaths = 0
            for key, question in list(self.open.items()):
                question["deaths"] = question.get("deaths", 0) + at_work
                if question["deaths"] >= LIVES:
                    self._file(
                        key, Answer(None, f"The trainer died {LIVES} times over this question; a smaller net may help.")
                    )
            self._tell()

    def _tell(self, key: str = "") -> None:
        """Wakes all waiting threads, and tells the listeners which key has changed; an empty key stands for any."""
        self.changed.notify_all()
        for hear in self.listeners:
            hear(key)

    def _file(self, key: str, answer: Answer[Any]) -> None:
        self.drop(key)
        self.answers[key] = answer
        self.answers.move_to_end(key)
        held = sum(kept.nbytes for kept in self.answers.values())
        while held > self.answer_bytes and len(self.answers) > 1:
            held -= self.answers.popitem(last=False)[1].nbytes

    def _drop_tapes(self) -> None:
        """Drops tapes to make room, but none in training: it would only be computed again."""
        held = sum(tape.nbytes for tape in self.tapes.values())
        for key, tape in list(self.tapes.items())[:-1] if held > self.tape_bytes else []:
            if held > self.tape_bytes and not tape.wanted:
                held -= tape.nbytes
                del self.tapes[key]


def question_message(question: Question[Any], cfg: RunConfig, args: dict[str, Any]) -> Message:
    """The message of a question to the engine; equal questions have equal keys."""
    query = cfg.to_query()
    key = json.dumps([question.name, query, args], sort_keys=True)
    return {"kind": "ask", "key": key, "question": question.name, "query": query, "args": args}


def want_message(tape: Tape, until: int, seconds: float, connection: int, session: str = "") -> Message:
    """The message of a wish to the engine; on a new connection it says how many rows are here already."""
    since = None if tape.connection == connection else tape.length
    tape.connection = connection
    return {
        "kind": "want",
        "key": tape.key,
        "query": tape.query,
        "seeds": tape.seeds,
        "until": until,
        "seconds": seconds,
        "session": session,
        "since": since,
    }
