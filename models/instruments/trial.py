"""Trials of changes to a run that failed. A change is offered only after a trial has shown that it helps."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from models.answers import Trial, TrialResult
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import LAST_ROWS
from models.insight.remedy import LONGER_TRIAL_STEPS, LONGEST_TRIAL_STEPS, TRIAL_STEPS, candidates, judge_trial
from models.instruments.surgery import evaluate_held_out
from models.spec import RunConfig
from models.training import Replays, Run, Work
from models.training.replay import rescale_progress, train_to

MAX_WARMUP_STEPS = 60  # by which a trial is extended
MAX_LEARNING = 3  # successful trials, after which no further changes are tried
MAX_CONTINUED = 2  # trials that continue up to LONGEST_TRIAL_STEPS if none has learned


def trial(
    _replays: Replays, cfg: RunConfig, *, first: Sequence[str], fixed: Sequence[str], diverged: int = -1, step: int = 0
) -> Work[Trial]:
    """Trains `candidates(cfg, first, fixed)` in order, until MAX_LEARNING of them learn.

    `diverged` is the step at which the run diverged, or -1. `step` is not used: a trial starts where the run did.
    """
    remedies = candidates(cfg, first, fixed)
    runs: list[Run] = []
    results: list[TrialResult] = []
    for index, remedy in enumerate(remedies):
        run = Run(replace(cfg, **remedy.fields), probe=False, frames=False)
        extension = max(diverged, 0) + min(run.cfg.warmup, MAX_WARMUP_STEPS)
        max_steps = LONGER_TRIAL_STEPS + extension + LONGEST_TRIAL_STEPS
        for steps in (TRIAL_STEPS, LONGER_TRIAL_STEPS):
            last_step = min(cfg.steps, LONGEST_TRIAL_STEPS, steps + extension)
            progress = (index + run.step / max_steps) / len(remedies)
            progress_after = (index + last_step / max_steps) / len(remedies)
            yield from rescale_progress(train_to(run, last_step), progress, progress_after)
            result = _result(run)
            if result.learns or not (result.steady or result.falling):
                break
        runs.append(run)
        results.append(result)
        if sum(result.learns for result in results) == MAX_LEARNING:
            break
    if not any(result.learns for result in results):
        last_step = min(cfg.steps, LONGEST_TRIAL_STEPS)
        steady = [index for index, result in enumerate(results) if result.steady]
        steady.sort(key=lambda index: results[index].held_out)
        for index in steady[:MAX_CONTINUED]:
            yield from rescale_progress(train_to(runs[index], last_step), 0.99, 1.0)
            results[index] = _result(runs[index])
    return Trial(tuple(results))


def _result(run: Run) -> TrialResult:
    """Compares the mean losses of the last two windows of a run, and judges whether it learns."""
    loss = run.trace().loss
    window = min(LAST_ROWS, max(1, len(loss) // 6))
    return judge_trial(
        steps=run.step,
        start=float(loss[0]),
        before=float(np.mean(loss[-2 * window : -window])),
        end=float(np.mean(loss[-window:])),
        held_out=float("inf") if run.divergence else evaluate_held_out(run.model, run.task).loss,
        diverged=run.divergence.step if run.divergence else -1,
        guessing=loss_of_guessing(run.cfg.task),
    )
