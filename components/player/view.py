"""A view: the part of a run that a page shows, from the rows of its log or from the net before training."""

from collections.abc import Sequence
from dataclasses import dataclass

from models.service.client import Answer, RequestedLog, trainer
from models.service.recorded import recorded_log
from models.spec import RunConfig
from models.trace import Frame, Trace

PROFILE_TIMEOUT_SECONDS = 1.5  # how long a page waits for its nets before training, all together


@dataclass(frozen=True)
class View:
    """A page's view of a run: its trace, the row shown, and its log.

    `recorded`: numbers shipped with the app, shown until the trainer has started. `here`: the visitor's browser trains
    the run, and the server has none of its numbers but those before training.
    """

    cfg: RunConfig
    trace: Trace
    row: int
    log: RequestedLog | None = None
    recorded: bool = False
    here: bool = False

    @property
    def frame(self) -> Frame | None:
        """The last frame at or before the row."""
        return self.trace.frame_at(self.row)

    @property
    def is_trained(self) -> bool:
        """Whether there are rows after the net before training."""
        return self.log is not None and self.log.trained and not self.here


def view_at(cfg: RunConfig, step: int = 0) -> tuple[View | None, bool]:
    """Returns (view or None, whether to call again). Never starts training."""
    return views_at([cfg], step)[0]


def views_at(cfgs: Sequence[RunConfig], step: int = 0) -> list[tuple[View | None, bool]]:
    """What `view_at` returns, for each net."""
    return [_view(cfg, step, answer) for cfg, answer in zip(cfgs, open_logs(cfgs), strict=True)]


def open_logs(cfgs: Sequence[RunConfig], seeds: int = 1) -> list[Answer[RequestedLog] | None]:
    """The logs with at least row 0. Asks for all before it waits for the first."""
    service = trainer()
    answers = [service.open_log(cfg, seeds) for cfg in cfgs]
    wait = PROFILE_TIMEOUT_SECONDS if service.status().state == "ready" else 0.0
    return [answer or service.open_log(cfg, seeds, wait) for cfg, answer in zip(cfgs, answers, strict=True)]


def _view(cfg: RunConfig, step: int, answer: Answer[RequestedLog] | None) -> tuple[View | None, bool]:
    service = trainer()
    if answer is not None and answer.value is not None:
        log = answer.value
        trace = log.trace()
        if trace is not None:
            row = min(step, len(trace) - 1)
            return View(cfg, trace, row, log), row < step and not log.done
    if service.status().state != "starting":
        return None, True
    recording = recorded_log(cfg)
    recorded_trace = recording.trace() if recording is not None else None
    if recorded_trace is None:
        return None, True
    return View(cfg, recorded_trace, 0, service.log(cfg), recorded=True), True


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
