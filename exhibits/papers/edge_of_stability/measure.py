"""Sharpness under full-batch gradient descent. Legend: F measured steps."""

import numpy as np

from exhibits.papers.edge_of_stability.answer import EDGE_OF_STABILITY, EdgeOfStability
from models.instruments.curvature import sharpness_of
from models.instruments.samples import FullBatch
from models.spec import RunConfig
from models.training import Replays, Run, Work, snapshot_of
from models.training.replay import rescale_progress, train_to

SAMPLES = 200  # of full-batch descent
SHARPNESS_STEPS = 25  # steps between two measurements of the sharpness


def edge_of_stability(_replays: Replays, cfg: RunConfig, *, step: int) -> Work[EdgeOfStability]:
    """Sharpness every SHARPNESS_STEPS steps up to `step` of descent in which every step takes the same samples."""
    last = min(step, cfg.steps)
    steps = [*range(0, last + 1, SHARPNESS_STEPS)]
    values = np.full(len(steps), np.nan)
    losses = np.full(max(last, 1), np.nan)
    run = Run(cfg, probe=False, frames=False)
    run.task = FullBatch(run.task, SAMPLES)  # type: ignore[assignment]
    start = None
    for at, step_to_measure in enumerate(steps):
        low, middle, high = ((at + part) / len(steps) for part in (0, 0.3, 1))
        yield from rescale_progress(train_to(run, step_to_measure), low, middle)
        if run.step < step_to_measure:
            break
        eigenvalue, _ = yield from rescale_progress(sharpness_of(snapshot_of(run), start), middle, high)
        values[at] = eigenvalue.value
        start = eigenvalue.finite_vector
    yield from train_to(run, last)
    losses[: run.step] = run.trace().loss[: run.step]
    return EdgeOfStability(np.array(steps), values, losses, cfg.lr)


MEASURES = {EDGE_OF_STABILITY: edge_of_stability}
