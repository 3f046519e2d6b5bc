"""The trainer's interface: what the pages may rely on, wherever tapes are computed."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol

from models.answers import Question, Value
from models.service.demand import Requester
from models.service.tape import RETRY_SECONDS, RunHistory
from models.spec import RunConfig

WISH_SECONDS = 80.0  # that rows or an answer stay wanted: more than the minute between two polls of a hidden tab

SENTENCES = {
    "starting": "The trainer is starting: it loads PyTorch, which takes a few seconds.",
    "ready": "The trainer is ready.",
    "restarting": (
        "The trainer ended {ending} and is being restarted; the charts stay, and unfinished runs are computed again."
    ),
    "given up": (
        "The trainer cannot run: it ended {times} times in a row, last {ending}. What is drawn stays; the server's log "
        "says why. It is tried again every {rest:g} s."
    ),
    "unattended": "The trainer cannot run: nothing restarts it any more. Restarting the server helps.",
    "closed": "The trainer is closed.",
}


@dataclass(frozen=True)
class Status:
    """The state of the trainer: starting, ready, restarting or failed.

    `ending` says how the last worker ended; it is empty while the first one lives.
    """

    state: str
    sentence: str
    versions: dict[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    pid: int = 0
    ending: str = ""


@dataclass(frozen=True)
class Answer(Generic[Value]):
    """The answer to a question: a value, or a sentence that says why there is none."""

    value: Value | None
    error: str = ""
    nbytes: int = 0
    born: float = field(default_factory=time.monotonic, compare=False)

    @property
    def stale(self) -> bool:
        """Whether this is an error old enough to ask again; values never expire."""
        return bool(self.error) and time.monotonic() - self.born > RETRY_SECONDS


class Trainer(Protocol):
    """The source of tapes and answers. Safe to use from many threads."""

    def status(self) -> Status:
        """The state of the trainer."""

    def busy(self) -> tuple[int, int]:
        """How many runs are being trained, and how many wait in the queue."""

    def tape(self, cfg: RunConfig, seeds: int = 1) -> RunHistory:
        """The tape of a configuration as far as it is known, for `seeds` seeds from its own up. Starts no training."""

    def want(
        self, cfg: RunConfig, until: int, seconds: float = WISH_SECONDS, seeds: int = 1, owner: Requester | None = None
    ) -> RunHistory:
        """Asks for `until` rows for the next `seconds`; repeated while somebody watches. With no more rows than there
        are already, it ends what this owner asked for.

        A session trains for one screen at a time: what it wanted for another screen than this owner's ends at once.
        """

    def listen(self, hear: Callable[[set[str]], None]) -> None:
        """Calls `hear` with the keys of all tapes and answers that change; an empty key stands for any.

        The calls are made in a thread of their own: whoever is slow or raises holds up nobody.
        """

    def place(self, tape: RunHistory) -> int:
        """A tape's place in the queue, from 1; 0 if it does not wait."""

    def ask(
        self, question: Question[Value], cfg: RunConfig, wait: float = 0.0, owner: Requester | None = None, **args: Any
    ) -> Answer[Value] | None:
        """The answer to a question of `models.answers`, or None if it is not there within `wait` seconds.

        A long answer is worked on only while the question is repeated, and while its session stays on this screen.
        """

    def share(self, question: Question[Value], cfg: RunConfig, **args: Any) -> float:
        """How much of an answer is done, from 0 to 1."""

    def cancel(self, question: Question[Value], cfg: RunConfig, **args: Any) -> None:
        """Withdraws a question."""

    def close(self) -> None:
        """Ends all work. Tapes stay readable."""
