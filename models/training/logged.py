"""Runs in their logs: what a log lacks of a run is appended, and what it has is not written again."""

from models.runlog import END, LogHead, RunLog, divergence_event, frame_event, made_here
from models.service.wire import Message
from models.training.batched import SeedRuns
from models.training.run import Run


def head_of(run: Run | SeedRuns) -> LogHead:
    """The head of a run's log."""
    seeds = len(run.divergences)
    return LogHead(run.cfg.to_query(), seeds, run.columns, run.parameters, run.device, made_here())


def begin_log(run: Run | SeedRuns, log: RunLog) -> None:
    """Begins the log of a run; one that is there already is gone on with."""
    log.begin(head_of(run))


def append_to_log(run: Run | SeedRuns, log: RunLog) -> None:
    """Appends rows and events that the log lacks. One that somebody has deleted is written anew."""
    try:
        log.append(run.rows(log.length), _new_events(run, log))
    except FileNotFoundError:
        begin_log(run, log)
        log.append(run.rows(), _new_events(run, log))


def _new_events(run: Run | SeedRuns, log: RunLog) -> list[Message]:
    events = [
        frame_event(frame, seed)
        for seed, (frames, framed) in enumerate(zip(run.frames_by_run, log.framed, strict=True))
        for frame in frames
        if frame.step > framed
    ]
    for seed, (divergence, known) in enumerate(zip(run.divergences, log.divergences, strict=True)):
        if divergence is not None and known is None:
            events.append(divergence_event(divergence, seed))
    return events + [END] * (run.done and not log.done)
