"""A view: what the server has of a run at the step shown, which are rows of its log or the net before training."""

from dataclasses import dataclass

from models.service.client import RequestedLog, trainer
from models.service.recorded import recorded_log
from models.spec import RunConfig
from models.trace import Frame, Trace

PROFILE_SECONDS = 1.5  # how long a run of the page waits for the net before training


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
    def trained(self) -> bool:
        """Whether there is more than the net before training."""
        return self.log is not None and self.log.trained


def look(cfg: RunConfig, step: int = 0) -> tuple[View | None, bool]:
    """The view at a step, and whether a later call may give a better one. Trains nothing: the player asks for that."""
    service = trainer()
    state = service.status().state
    found = service.open_log(cfg, wait=PROFILE_SECONDS if state == "ready" else 0.0)
    if found is not None and found.value is not None and (trace := found.value.trace()) is not None:
        row = min(step, len(trace) - 1)
        return View(cfg, trace, row, found.value), row < step and not found.value.done
    if state == "starting" and (log := recorded_log(cfg)) is not None and (trace := log.trace()) is not None:
        return View(cfg, trace, 0, service.log(cfg), recorded=True), True
    return None, True


def trouble(cfg: RunConfig) -> str:
    """A sentence on why this configuration cannot be shown; empty if it can."""
    service = trainer()
    status = service.status()
    if status.state == "failed":
        return status.sentence
    found = service.open_log(cfg)
    error = service.log(cfg).error or (found.error if found is not None else "")
    return sentence(error) if error else ""


def sentence(text: str) -> str:
    """The text with a capital and a full stop; `str.capitalize` would change the names inside."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
