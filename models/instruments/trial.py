"""Trials of changes to a run that failed. A change is offered only after a trial has shown that it helps."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from models.answers import Trial, TrialResult
from models.insight.baseline import BETTER_BELOW, LEARNED_BELOW, loss_of_guessing
from models.insight.postmortem import LONGER_TRIAL_STEPS, LONGEST_TRIAL_STEPS, TRIAL_STEPS, candidates
from models.insight.verdict import LAST_ROWS
from models.instruments.surgery import evaluate_held_out
from models.spec import RunConfig
from models.training import Replays, Run, Work
from models.training.replay import rescale_progress, train_to

NEAR_GUESSING = 1.05  # times the loss of guessing; a trial below it may be about to learn
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
    held_out = math.inf if run.divergence else evaluate_held_out(run.model, run.task).loss
    diverged = run.divergence.step if run.divergence else -1
    guessing = loss_of_guessing(run.cfg.task)
    return judge_trial(run.trace().loss, steps=run.step, held_out=held_out, diverged=diverged, guessing=guessing)


def judge_trial(loss: np.ndarray, *, steps: int, held_out: float, diverged: int, guessing: float) -> TrialResult:
    """The result of a trial from its losses in nats: whether it learns, and how its last two windows compare.

    `diverged` is a step or -1.
    """
    window = min(LAST_ROWS, max(1, len(loss) // 6))
    start, before, end = (float(np.mean(part)) for part in (loss[:1], loss[-2 * window : -window], loss[-window:]))

    def is_below(share: float, held_out_share: float = math.inf) -> bool:
        return diverged < 0 and end < min(start, share * guessing) and held_out < held_out_share * guessing

    return TrialResult(
        steps=steps,
        start=start,
        end=end,
        held_out=held_out,
        diverged=diverged,
        learns=is_below(LEARNED_BELOW, 1.0),
        better=is_below(BETTER_BELOW, BETTER_BELOW),
        steady=is_below(NEAR_GUESSING),
        falling=diverged < 0 and end < BETTER_BELOW * before,
    )
