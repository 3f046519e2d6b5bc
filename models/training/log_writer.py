"""Runs in their logs: what a log lacks of a run is appended, and what it has is not written again."""

from dataclasses import replace

import numpy as np

from models.insight.sentences import sentence_changes
from models.runlog import END, LogHead, RunLog, divergence_event, frame_event, made_here, said_event
from models.service.wire import Message
from models.spec import RunConfig
from models.training.batched import SeedRuns
from models.training.run import Run, before_training


def log_head(run: Run | SeedRuns) -> LogHead:
    """The head of a run's log."""
    seeds = len(run.divergences)
    return LogHead(run.cfg.to_query(), seeds, run.columns, run.parameters, run.device, engine_fingerprint())


def begin_log(run: Run | SeedRuns, log: RunLog) -> None:
    """Begins the log of a run; one that is there already is gone on with."""
    log.begin(log_head(run))


def seed_runs(cfg: RunConfig, seeds: int, *, frames: bool = True) -> SeedRuns:
    """A configuration's run from its own seed up, for so many seeds."""
    return SeedRuns(cfg, range(cfg.seed, cfg.seed + seeds), frames=frames)


def log_opening(cfg: RunConfig, seeds: int) -> tuple[LogHead, np.ndarray, list[Message]]:
    """Head, row 0 and events of a run before training."""
    first = before_training(cfg)
    run: Run | SeedRuns = first
    if seeds > 1:
        run = seed_runs(cfg, seeds, frames=False)
        run.advance(1)
    trace = replace(run.traces()[0], frames=tuple(first.frames))
    ends = [divergence_event(end, seed) for seed, end in enumerate(run.divergences) if end]
    event = said_event(1, sentence_changes(cfg, trace, range(1), {}))
    return head_of(run), run.rows()[:1], [frame_event(first.frames[0], 0, draft=True), *ends, event]


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
        for seed, (frames, framed) in enumerate(zip(run.frames_by_run, log.last_frame_steps, strict=True))
        for frame in frames
        if frame.step > framed
    ]
    for seed, (divergence, known) in enumerate(zip(run.divergences, log.divergences, strict=True)):
        if divergence is not None and known is None:
            events.append(divergence_event(divergence, seed))
    return events


def _new_words(cfg: RunConfig, log: RunLog) -> list[Message]:
    """What is to be said of rows that nothing has been said of yet, for the first seed as far as it got."""
    if (trace := log.trace()) is None or log.narrated_length >= log.length:
        return []
    last = {kind: texts[-1][1] for kind, texts in log.said().items()}
    return [said_event(log.length, sentence_changes(cfg, trace, range(log.spoken, len(trace)), last))]
