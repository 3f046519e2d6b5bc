"""Trials of changes to a run that failed: each is trained for a few steps before anyone is told that it helps."""

from collections.abc import Sequence
from dataclasses import replace

from models.answers import Trial, Tried
from models.insight.baseline import LEARNT, loss_of_guessing
from models.insight.remedy import NEARLY, candidates
from models.spec import RunConfig
from models.training import Replays, Run, Work
from models.training.replay import trained, within

STEPS = 30  # of a trial, besides a warm-up: a bad change shows in its first steps
LONGER = 90  # steps where the loss has come down to guessing and may be about to pass it
MOST_WARMUP = 60
ENOUGH = 3  # trials that learn, after which no further changes are tried
LAST = 5  # steps whose mean loss is the result


def trial(
    _replays: Replays, cfg: RunConfig, *, first: Sequence[str], without: Sequence[str], step: int = 0
) -> Work[Trial]:
    """The results of training `candidates(cfg, first, without)` in order, until ENOUGH of them learn.

    `step` is not used: a trial starts where the run did.
    """
    remedies, tried = candidates(cfg, first, without), []
    for at, remedy in enumerate(remedies):
        changed = replace(cfg, **remedy.fields)
        run = Run(changed, probe=False, frames=False)
        for steps in (STEPS, LONGER):
            goal = min(cfg.steps, steps + min(changed.warmup, MOST_WARMUP))
            low, high = (at + done / (goal + LONGER) for done in (run.step, goal))
            yield from within(trained(run, goal), low / len(remedies), high / len(remedies))
            result = _result(run)
            if result.learns or not result.steady:
                break
        tried.append(result)
        if sum(result.learns for result in tried) == ENOUGH:
            break
    return Trial(tuple(tried))


def _result(run: Run) -> Tried:
    loss = run.trace().loss
    start, end, guessing = float(loss[0]), float(loss[-LAST:].mean()), loss_of_guessing(run.cfg.task)
    learns, steady = (run.divergence is None and end < min(start, share * guessing) for share in (LEARNT, NEARLY))
    lost = run.divergence.step if run.divergence else -1
    return Tried(run.step, start, end, lost, learns, steady)
