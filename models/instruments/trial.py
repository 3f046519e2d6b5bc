"""What changes of a run that failed come to: each is trained for a few steps before anybody is told that it helps."""

from collections.abc import Sequence
from dataclasses import replace

from models.answers import Trial, Tried
from models.insight.baseline import loss_of_guessing
from models.insight.remedy import LEARNING, NEARLY, candidates
from models.spec import RunConfig
from models.training import Replays, Run, Work
from models.training.replay import SLICE_SECONDS

STEPS = 30  # of a trial, beyond a warm-up: what a bad change does, it does in its first steps
LONGER = 90  # where the loss has come down to guessing and may be about to pass it
MOST_WARMUP = 60
ENOUGH = 3  # changes that learn, after which no further ones are tried
LAST = 5  # steps whose mean loss is what came out


def trial(
    _replays: Replays, cfg: RunConfig, *, first: Sequence[str], without: Sequence[str], step: int = 0
) -> Work[Trial]:
    """Trains `candidates(cfg, first, without)` in their order until ENOUGH learn.

    `step` is not used: a trial starts where the run did.
    """
    every, tried = candidates(cfg, first, without), []
    for at, remedy in enumerate(every):
        changed = replace(cfg, **remedy.fields)
        run = Run(changed, probe=False, frames=False)
        for steps in (STEPS, LONGER):
            goal = min(cfg.steps, steps + min(changed.warmup, MOST_WARMUP))
            while run.step < goal and not run.done:
                run.advance(goal - run.step, SLICE_SECONDS)
                yield (at + run.step / (goal + LONGER)) / len(every)
            found = _found(run)
            if found.learns or not found.steady:
                break
        tried.append(found)
        if sum(one.learns for one in tried) == ENOUGH:
            break
    return Trial(tuple(tried))


def _found(run: Run) -> Tried:
    loss = run.trace().loss
    start, end, guessing = float(loss[0]), float(loss[-LAST:].mean()), loss_of_guessing(run.cfg.task)
    learns, steady = (run.divergence is None and end < min(start, share * guessing) for share in (LEARNING, NEARLY))
    lost = run.divergence.step if run.divergence else -1
    return Tried(run.step, start, end, lost, learns, steady)
