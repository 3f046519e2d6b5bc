"""Writes runs to their logs: appends the rows, frames, divergences and sentences that a log still lacks."""

from dataclasses import replace

import numpy as np

from models.insight.sentences import sentence_changes
from models.runlog import END, LogHead, RunLog, divergence_event, engine_fingerprint, frame_event, sentences_event
from models.service.wire import Message
from models.spec import RunConfig
from models.training.batched import SeedRuns
from models.training.run import Run, before_training


def log_head(run: Run | SeedRuns) -> LogHead:
    seeds = len(run.divergences)
    return LogHead(run.cfg.to_query(), seeds, run.columns, run.parameters, run.device, engine_fingerprint())


def begin_log(run: Run | SeedRuns, log: RunLog) -> None:
    """Begins the log of a run, or continues the existing one."""
    log.begin(log_head(run))


def seed_runs(cfg: RunConfig, seeds: int, *, frames: bool = True) -> SeedRuns:
    """The runs of a configuration under `seeds` consecutive seeds, its own first."""
    return SeedRuns(cfg, range(cfg.seed, cfg.seed + seeds), frames=frames)


def log_opening(cfg: RunConfig, seeds: int) -> tuple[LogHead, np.ndarray, list[Message]]:
    """Head, row 0 and events of the log of a run before training."""
    first_run = before_training(cfg)
    run: Run | SeedRuns = first_run
    if seeds > 1:
        run = seed_runs(cfg, seeds, frames=False)
        run.advance(1)
    trace = replace(run.traces()[0], frames=tuple(first_run.frames))
    events = [
        frame_event(first_run.frames[0], 0, draft=True),
        *(divergence_event(divergence, seed) for seed, divergence in enumerate(run.divergences) if divergence),
        sentences_event(1, sentence_changes(cfg, trace, range(1), {})),
    ]
    return log_head(run), run.rows()[:1], events


def append_to_log(run: Run | SeedRuns, log: RunLog) -> None:
    """Appends the rows and events that the log lacks. Writes a deleted log from the start."""
    try:
        log.append(run.rows(log.length), _new_events(run, log))
    except FileNotFoundError:
        begin_log(run, log)
        log.append(run.rows(log.length), _new_events(run, log))


def _new_events(run: Run | SeedRuns, log: RunLog) -> list[Message]:
    events = [
        frame_event(frame, seed)
        for seed, (frames, last_step) in enumerate(zip(run.frames_by_run, log.last_frame_steps, strict=True))
        for frame in frames
        if frame.step > last_step
    ]
    for seed, (divergence, logged) in enumerate(zip(run.divergences, log.divergences, strict=True)):
        if divergence is not None and logged is None:
            events.append(divergence_event(divergence, seed))
    if run.length > log.length:
        last = {kind: texts[-1][1] for kind, texts in log.sentences().items()}
        trace = run.first_trace()
        events.append(
            sentences_event(run.length, sentence_changes(run.cfg, trace, range(log.length, len(trace)), last))
        )
    return [*events, END] if run.done and not log.done else events
