"""Trials of changes to a run that failed: each is trained before anyone is told that it helps."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from models.answers import Trial, TrialResult
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import LAST
from models.insight.remedy import LONGER, LONGEST, STEPS, candidates, judge_trial
from models.spec import RunConfig
from models.training import Replays, Run, Work, cross_entropy
from models.training.modes import evaluating
from models.training.replay import trained, within

MAX_WARMUP_STEPS = 60
ENOUGH = 3  # trials that learn, after which no further changes are tried
BEST = 2  # trials that go on to LONGEST


def trial(
    _replays: Replays, cfg: RunConfig, *, first: Sequence[str], fixed: Sequence[str], diverged: int = -1, step: int = 0
) -> Work[Trial]:
    """The results of training `candidates(cfg, first, fixed)` in order, until ENOUGH of them learn.

    `lost`: the step at which the run diverged, or -1. `step` is not used: a trial starts where the run did.
    """
    remedies = candidates(cfg, first, fixed)
    runs: list[Run] = []
    tried: list[TrialResult] = []
    for at, remedy in enumerate(remedies):
        run = Run(replace(cfg, **remedy.fields), probe=False, frames=False)
        further = max(diverged, 0) + min(run.cfg.warmup, MAX_WARMUP_STEPS)
        for steps in (STEPS, LONGER):
            goal = min(cfg.steps, LONGEST, steps + further)
            low, high = (at + done / (LONGER + further + LONGEST) for done in (run.step, goal))
            yield from within(trained(run, goal), low / len(remedies), high / len(remedies))
            result = _result(run)
            if result.learns or not (result.steady or result.falling):
                break
        runs.append(run)
        tried.append(result)
        if sum(result.learns for result in tried) == ENOUGH:
            break
    if not any(result.learns for result in tried):
        steady = [at for at, result in enumerate(tried) if result.steady]
        for at in sorted(steady, key=lambda at: tried[at].held_out)[:BEST]:
            yield from within(trained(runs[at], min(cfg.steps, LONGEST)), 0.99, 1.0)
            tried[at] = _result(runs[at])
    return Trial(tuple(tried))


def _result(run: Run) -> TrialResult:
    loss = run.trace().loss
    window = min(LAST, max(1, len(loss) // 6))
    before, end = (float(np.mean(part)) for part in (loss[-2 * window : -window], loss[-window:]))
    lost = run.divergence.step if run.divergence else -1
    held_out = _held_out(run) if lost < 0 else float("inf")
    return judge_trial(
        steps=run.step,
        start=float(loss[0]),
        before=before,
        end=end,
        held_out=held_out,
        diverged=lost,
        guessing=loss_of_guessing(run.cfg.task),
    )


def _held_out(run: Run) -> float:
    """The loss on held-out samples, nats."""
    x, y = run.task.held_out
    with evaluating(run.model), torch.no_grad():
        return float(cross_entropy(run.model(x), y))
