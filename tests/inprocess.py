"""The trainer without a process: `request_rows` trains and `ask` answers before they return.

What was answered once in a process of tests is not computed again, whichever trainer was asked.
"""

import os
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from models.answers import Question, Value
from models.service.client import RequestedLog, Requester, Trainer, question_message
from models.service.demand import NOBODY
from models.service.interface import REQUEST_SECONDS, SENTENCES, Answer, Status
from models.service.result_cache import LOG_BYTES, ResultCache
from models.service.runs import close_folder, open_folder
from models.service.wire import Message
from models.spec import RunConfig
from models.spec.budget import Machine

if TYPE_CHECKING:
    from models.service.engine import Engine

STEPS_PER_REQUEST = 20

# Answers by key of the question and the function that answers it, which a test may have replaced.
_answers: dict[tuple[str, object], Message] = {}


class InProcessTrainer(Trainer):
    """A trainer whose `request_rows` adds at most `steps_per_request` rows before it returns. Torch is loaded on first use.

    `start_delay`: it has no process that could.
    """

    def __init__(self, steps_per_request: int = STEPS_PER_REQUEST, start_delay: float = 0.0) -> None:
        self.steps_per_request = steps_per_request
        self.runs = open_folder(LOG_BYTES)
        self._results = ResultCache(self.runs, self._post)
        self._status = Status("ready", SENTENCES["ready"])
        self._closed = False

    def status(self) -> Status:
        with self._results.lock:
            if not self._closed:
                _ = self._engine  # which announces the versions
            return self._status

    def run_counts(self) -> tuple[int, int]:
        return 0, 0  # a run is trained within `request_rows`

    def request_rows(
        self,
        cfg: RunConfig,
        until: int,
        seconds: float = REQUEST_SECONDS,
        seeds: int = 1,
        owner: Requester | None = None,
    ) -> RequestedLog:
        with self._results.lock:
            log = self._results.add_log(cfg, seeds)
            self._results.expire()
            if not (log.done or log.is_retry_delayed or until <= log.length or self._closed):
                self._results.request_rows(log, owner or NOBODY, until, seconds)
                if log.key in self._engine.slots:
                    self._engine.advance(log.key, min(until, log.length + self.steps_per_request))
            return log

    def ask(
        self, question: Question[Value], cfg: RunConfig, wait: float = 0.0, owner: Requester | None = None, **args: Any
    ) -> Answer[Value] | None:
        try:
            message = question_message(question, cfg, args)
        except ValueError as too_long:
            return Answer(None, str(too_long))
        with self._results.lock:
            if self._results.answer(message["key"], question) is None and not self._closed:
                self._answer(message)
            return self._results.answer(message["key"], question) or Answer(None, self._status.sentence)

    def close(self) -> None:
        with self._results.lock:
            self._closed = True
            self._give_up(SENTENCES["closed"])
            self._results.load_rows()
            close_folder(self.runs)

    def _answer(self, message: Message) -> None:
        """Files the answer to a question, and keeps it if there was no error."""
        from models.instruments import INSTRUMENTS
        from models.service.questions import QUESTIONS

        _ = self._engine  # which announces the versions
        name = message["question"]
        self._asked = message["key"], INSTRUMENTS.get(name, QUESTIONS.get(name))
        if self._asked in _answers:
            return self._file(_answers[self._asked])
        self._engine.answer(message)
        return self._engine.finish(message["key"])

    @cached_property
    def _engine(self) -> "Engine":
        import torch

        from models.service import engine as engines

        torch.set_num_threads(1)  # with more, sums are taken in another order and rows differ in the last bits
        if not hasattr(engines.log_opening, "cache_info"):
            engines.log_opening = cache(engines.log_opening)
        engine = engines.Engine(self._file, self.runs)
        engine.announce(os.getpid(), Machine())
        return engine

    def _post(self, message: Message) -> None:
        """Passes requests on to the engine; questions are answered in `ask`."""
        if message["kind"] == "requests":
            self._engine.set_requests(message)

    def _file(self, message: Message) -> None:
        if message["kind"] == "ready":
            known = message["versions"], tuple(message["devices"]), message["pid"]
            self._status = Status("ready", SENTENCES["ready"], *known)
        else:
            if message["kind"] == "answer" and not message["error"] and self._asked[1] is not None:
                _answers[self._asked] = message
            self._results.handle_message(message)
