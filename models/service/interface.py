"""What the pages may rely on, wherever tapes are computed: the trainer's interface and what it returns."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol

from models.answers import Question, Value
from models.service.tape import RETRY_SECONDS, Tape
from models.service.wishes import Owner
from models.spec import RunConfig

WISH_SECONDS = 80.0  # more than the minute that a hidden tab may take between two polls
RENEW_SECONDS = 5.0  # how often the worker is told that somebody still waits

SENTENCES = {
    "starting": "The trainer is starting: it loads PyTorch, which takes a few seconds.",
    "ready": "The trainer is ready.",
    "restarting": (
        "The trainer ended {ending} and is started again; what is drawn stays, and unfinished runs are computed again."
    ),
    "closed": "The trainer is closed.",
}


@dataclass(frozen=True)
class Status:
    """How the trainer is: state starting, ready, restarting or failed.

    `wanted` counts the runs that are wanted now, `waiting` those of them that wait in the queue.
    `ending`: how its last process ended, in words; empty while the first one lives.
    """

    state: str
    sentence: str
    versions: dict[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    pid: int = 0
    wanted: int = 0
    waiting: int = 0
    ending: str = ""


@dataclass(frozen=True)
class Answer(Generic[Value]):
    """What came of a question: a value, or a sentence that says why there is none."""

    value: Value | None
    error: str = ""
    nbytes: int = 0
    born: float = field(default_factory=time.monotonic, compare=False)

    @property
    def stale(self) -> bool:
        """Whether this is an error old enough to ask again; values hold for ever."""
        return bool(self.error) and time.monotonic() - self.born > RETRY_SECONDS


class Trainer(Protocol):
    """Where tapes come from. Safe to use from many threads."""

    def status(self) -> Status:
        """How the trainer is."""

    def tape(self, cfg: RunConfig, seeds: int = 1) -> Tape:
        """The tape of a configuration as far as it is known;
        starts no training. `seeds` from its own upwards, together.
        """

    def want(
        self, cfg: RunConfig, until: int, seconds: float = WISH_SECONDS, seeds: int = 1, owner: Owner | None = None
    ) -> Tape:
        """Wishes for `until` rows. The wish expires after `seconds`: whoever still looks wishes again.

        A session's wishes for another screen than this owner's end at once: it trains for one screen at a time.
        """

    def release(self, tape: Tape, owner: Owner) -> None:
        """A session wants no more rows of a tape for now."""

    def listen(self, hear: Callable[[str], None]) -> None:
        """From now on `hear` is told the key of every tape and
        answer that something came of, empty where it may be any.

        It is called in the thread that files what comes, so that it must be quick and must not fail.
        """

    def place(self, tape: Tape) -> int:
        """A tape's place in the queue, from 1, where more runs are
        wanted than are trained by turns; 0 where it does not wait.
        """

    def ask(
        self, question: Question[Value], cfg: RunConfig, wait: float = 0.0, owner: Owner | None = None, **args: Any
    ) -> Answer[Value] | None:
        """The answer to a question of `models.answers`, or None while it is not there; waits up to `wait` seconds.

        An answer that takes long is worked on only while it is asked for again and again, and while its session does
        not ask for another screen.
        """

    def share(self, question: Question[Value], cfg: RunConfig, **args: Any) -> float:
        """How much of an answer that is being worked on is done, from 0 to 1."""

    def cancel(self, question: Question[Value], cfg: RunConfig, **args: Any) -> None:
        """Nobody waits for this answer any more."""

    def close(self) -> None:
        """Ends all training. Tapes that somebody holds stay readable."""
