"""A view: the part of a run that a page shows, from the rows of its log or from the net before training."""

from dataclasses import dataclass

from models.service.client import RequestedLog, trainer
from models.service.recorded import recorded_log
from models.spec import RunConfig
from models.trace import Frame, Trace

PROFILE_SECONDS = 1.5  # how long a page waits for the net before training


@dataclass(frozen=True)
class View:
    """A page's view of a run: its trace, the row shown, and its log.

    `recorded`: the numbers come with the app, until the trainer has started and computed its own.
    """

    cfg: RunConfig
    trace: Trace
    row: int
    log: RequestedLog | None = None
    recorded: bool = False

    @property
    def frame(self) -> Frame | None:
        """The last frame at or before the row."""
        return self.trace.frame_at(self.row)

    @property
    def is_trained(self) -> bool:
        """Whether there are rows after the net before training."""
        return self.log is not None and self.log.trained


def view_at(cfg: RunConfig, step: int = 0) -> tuple[View | None, bool]:
    """The view at a step, and whether a later call may give a better one. It trains nothing: the player does."""
    service = trainer()
    state = service.status().state
    answer = service.open_log(cfg, wait=PROFILE_SECONDS if state == "ready" else 0.0)
    if answer is not None and answer.value is not None and (trace := answer.value.trace()) is not None:
        row = min(step, len(trace) - 1)
        return View(cfg, trace, row, answer.value), row < step and not answer.value.done
    if state == "starting" and (log := recorded_log(cfg)) is not None and (trace := log.trace()) is not None:
        return View(cfg, trace, 0, service.log(cfg), recorded=True), True
    return None, True


def failure_sentence(cfg: RunConfig) -> str:
    """A sentence on why this configuration cannot be shown; empty if it can."""
    service = trainer()
    status = service.status()
    if status.state == "failed":
        return status.sentence
    answer = service.open_log(cfg)
    error = service.log(cfg).error or (answer.error if answer is not None else "")
    return as_sentence(error) if error else ""


def as_sentence(text: str) -> str:
    """The text with a capital and a full stop; `str.capitalize` would change the names inside."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
