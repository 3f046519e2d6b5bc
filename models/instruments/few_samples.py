"""What a norm does to overfitting and to the shape of the loss: nets with and without one, trained on few samples.

Legend: K norms, S seeds, F looks.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from models.answers import Overfitting
from models.generator import generator
from models.instruments.curvature import sharpness_of
from models.instruments.landscape import direction, matrices
from models.instruments.surgery import held_out
from models.nets import Net
from models.spec import RunConfig
from models.spec.knob import check_whole
from models.tasks import TaskData
from models.training import Replays, Run, Snapshot, Work, cross_entropy, snapshot_of
from models.training.modes import evaluating
from models.training.replay import even_steps, trained, within

MEASURED_STEPS = 9  # steps at which both losses are measured, including 0 and the last
DIRECTIONS = 8  # random filter-normalised directions along which the loss is measured
REACH = 0.5  # how far, in filter lengths
SAMPLES = (20, 1000)  # least and most


class FewSamples:
    """A task with only `count` training samples, from which every batch is drawn with replacement."""

    def __init__(self, task: TaskData, count: int) -> None:
        self.task = task
        self.x, self.y = task.draw(count, generator(0, "few samples"))

    def batch(self, k: int) -> tuple[Tensor, Tensor]:
        """Batch k, which depends on the seed and k only."""
        cfg = self.task.cfg
        chosen = torch.randint(len(self.x), (cfg.batch,), generator=generator(cfg.seed, f"few samples {k}")).to(
            self.x.device
        )
        return self.x[chosen], self.y[chosen]

    @property
    def held_out(self) -> tuple[Tensor, Tensor]:
        """The held-out samples of the whole task."""
        return self.task.held_out


class AllOfThem(FewSamples):
    """FewSamples whose every batch is all of them."""

    def batch(self, k: int) -> tuple[Tensor, Tensor]:
        """Every sample once, whatever k."""
        return self.x, self.y


def few_samples(
    _replays: Replays, cfg: RunConfig, *, norms: Sequence[str], samples: int, seeds: int = 2, step: int = 0
) -> Work[Overfitting]:
    """Losses, sharpness and rise of the net with each of `norms`, trained on the same `samples` samples.

    `step` is not used. ValueError for a number of samples outside SAMPLES.
    """
    check_whole("samples", samples, *SAMPLES)
    steps = even_steps(cfg.steps, MEASURED_STEPS)
    results: dict[str, list[list[Any]]] = {name: [] for name in ("train", "held_out", "accuracy", "sharpness", "rise")}
    total, done = len(norms) * seeds, 0
    for norm in norms:
        rows: dict[str, list[Any]] = {name: [] for name in results}
        for seed in range(cfg.seed, cfg.seed + seeds):
            run = Run(replace(cfg, norm=norm, seed=seed), probe=False, frames=False)
            run.task = FewSamples(run.task, samples)  # type: ignore[assignment]
            looks: list[tuple[float, float, float]] = []
            for step_of_look in steps:
                done_before, done_after = (done + 0.8 * at / cfg.steps for at in (run.step, step_of_look))
                yield from within(trained(run, step_of_look), done_before / total, done_after / total)
                looks.append(losses(run))
            for name, series in zip(("train", "held_out", "accuracy"), zip(*looks, strict=True), strict=True):
                rows[name].append(list(series))
            snapshot = replace(snapshot_of(run), task=AllOfThem(run.task.task, samples))  # type: ignore[attr-defined,arg-type]
            rows["rise"].append(rise(snapshot))
            eigenvalue, _ = yield from within(sharpness_of(snapshot), (done + 0.85) / total, (done + 1) / total)
            rows["sharpness"].append(eigenvalue.value)
            done += 1
        for name, by_seed in rows.items():
            results[name].append(by_seed)
    return Overfitting(np.array(steps), **{name: np.array(values) for name, values in results.items()})


@torch.no_grad()
def losses(run: Run) -> tuple[float, float, float]:
    """Training loss on the few samples, held-out loss and held-out accuracy, in eval mode."""
    few = run.task
    assert isinstance(few, FewSamples)
    with evaluating(run.model):
        train = cross_entropy(run.model(few.x), few.y).item()
    return (train, *held_out(run.model, few.task)[:2])


@torch.no_grad()
def rise(snapshot: Snapshot) -> float:
    """The median rise of the batch's loss, REACH away along random filter-normalised directions."""
    model, (x, y) = snapshot.copy(), snapshot.batch()
    middle = cross_entropy(model(x), y).item()
    higher = []
    for which in range(DIRECTIONS):
        moved: Net = snapshot.copy()
        for (_, p), along in zip(
            matrices(moved), direction(moved, snapshot.cfg.seed, f"few samples {which}"), strict=True
        ):
            p.add_(along, alpha=REACH)
        higher.append(cross_entropy(moved(x), y).item() - middle)
    return float(np.median(higher))
