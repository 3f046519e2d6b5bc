"""A view: what the server has of a run at the step shown, which are rows of its tape or the net before training."""

from dataclasses import dataclass

from models.service.client import RunHistory, trainer
from models.service.recorded import recorded
from models.spec import RunConfig
from models.trace import Frame, Trace

PROFILE_SECONDS = 1.5  # how long a run of the page waits for the net before training


@dataclass(frozen=True)
class View:
    """A page's view of a run: its trace, the row shown, and its tape.

    `recorded`: the numbers come with the app, until the trainer has started and computed its own.
    """

    cfg: RunConfig
    trace: Trace
    row: int
    tape: RunHistory | None = None
    recorded: bool = False

    @property
    def frame(self) -> Frame | None:
        """The last frame at or before the row."""
        return self.trace.frame_at(self.row)


def look(cfg: RunConfig, step: int = 0) -> tuple[View | None, bool]:
    """The view at a step, and whether a later call may give a better one. Trains nothing: the stage asks for that."""
    service = trainer()
    tape = service.tape(cfg)
    trace = tape.trace()
    if trace is not None and len(trace) > 0:
        row = min(step, len(trace) - 1)
        return View(cfg, trace, row, tape), row < step and not tape.done
    ready = service.status().state == "ready"
    before = service.before(cfg, wait=PROFILE_SECONDS if ready else 0.0)
    if before is not None and before.value is not None:
        return View(cfg, before.value[0], 0, tape), step > 0
    if service.status().state == "starting" and (trace := recorded(cfg)) is not None:
        return View(cfg, trace, 0, tape, recorded=True), True
    return None, True


def trouble(cfg: RunConfig) -> str:
    """A sentence on why this configuration cannot be shown; empty if it can."""
    service = trainer()
    status = service.status()
    if status.state == "failed":
        return status.sentence
    before = service.before(cfg)
    error = service.tape(cfg).error or (before.error if before is not None else "")
    return sentence(error) if error else ""


def sentence(text: str) -> str:
    """The text with a capital and a full stop; `str.capitalize` would change the names inside."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
