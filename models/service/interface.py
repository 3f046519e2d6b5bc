"""The state of the trainer and its answers, as the pages read them."""

import time
from dataclasses import dataclass, field
from typing import Generic

from models.answers import Value
from models.service.requested_log import RETRY_SECONDS

REQUEST_SECONDS = 80.0  # lifetime of a request: longer than the minute between two polls of a hidden tab

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
    created_at: float = field(default_factory=time.monotonic, compare=False)  # monotonic seconds

    @property
    def is_stale(self) -> bool:
        """Whether this is an error old enough to ask again; values never expire."""
        return bool(self.error) and time.monotonic() - self.created_at > RETRY_SECONDS
