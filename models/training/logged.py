"""Runs in their logs: what a log lacks of a run is appended, and what it has is not written again."""

from models.insight.said import changes
from models.runlog import END, LogHead, RunLog, divergence_event, frame_event, made_here, said_event
from models.service.wire import Message
from models.spec import RunConfig
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
    if words := _new_words(run.cfg, log) + [END] * (run.done and not log.done):
        log.append(run.rows(log.length), words)


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
    return events


def _new_words(cfg: RunConfig, log: RunLog) -> list[Message]:
    """What is to be said of the first seed's rows that nothing has been said of yet."""
    traces = log.traces()
    rows = range(log.spoken, len(traces[0]) if traces else 0)
    if not rows:
        return []
    new = changes(cfg, traces[0], rows, {kind: said[-1][1] for kind, said in log.said({}).items()})
    return [said_event(rows.stop, new)] * bool(new)
