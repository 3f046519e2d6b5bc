"""What a norm does to overfitting and to the loss around a net:
the same nets with and without one, trained on a few samples.

Legend: K nets, S seeds, F looks.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from models.answers import Overfitting
from models.generator import generator
from models.instruments.curvature import hessian, largest
from models.instruments.landscape import direction, matrices
from models.instruments.surgery import held_out
from models.nets import Net
from models.spec import RunConfig
from models.tasks import TaskData
from models.training import Replays, Run, Still, Work, cross_entropy, still_of
from models.training.frames import evaluating
from models.training.replay import SLICE_SECONDS, even_steps, within

LOOKS = 9  # steps at which both losses are measured, 0 and the last among them
DIRECTIONS = 8  # at random, filter-normalised, along which the loss is taken
REACH = 0.5  # of each filter's length
SAMPLES = (20, 1000)


class FewSamples:
    """A task that knows `count` training samples only: every batch is drawn from them, with replacement."""

    def __init__(self, task: TaskData, count: int) -> None:
        self.task = task
        self.x, self.y = task.draw(count, generator(0, "few samples"))

    def batch(self, k: int) -> tuple[Tensor, Tensor]:
        """Batch k, decided by the seed and k alone."""
        cfg = self.task.cfg
        chosen = torch.randint(len(self.x), (cfg.batch,), generator=generator(cfg.seed, f"few samples {k}")).to(
            self.x.device
        )
        return self.x[chosen], self.y[chosen]

    @property
    def held_out(self) -> tuple[Tensor, Tensor]:
        """Those of the whole task."""
        return self.task.held_out


class AllOfThem(FewSamples):
    """As FewSamples; its batch is all of them."""

    def batch(self, k: int) -> tuple[Tensor, Tensor]:
        """Every sample once."""
        return self.x, self.y


def few_samples(
    _replays: Replays, cfg: RunConfig, *, norms: Sequence[str], samples: int, seeds: int = 2, step: int = 0
) -> Work[Overfitting]:
    """The net of a configuration with each of some norms, trained on `samples` samples, the same for all nets.

    Each direction moves every filter by REACH of its length. `step`
    is not used. ValueError for other numbers of samples than SAMPLES.
    """
    if not SAMPLES[0] <= samples <= SAMPLES[1]:
        raise ValueError(f"samples is {samples!r}; legal is {SAMPLES[0]} to {SAMPLES[1]}")
    wanted = even_steps(cfg.steps, LOOKS)
    found: dict[str, list[list[Any]]] = {name: [] for name in ("train", "held_out", "accuracy", "sharpness", "rise")}
    total, done = len(norms) * seeds, 0
    for norm in norms:
        rows: dict[str, list[Any]] = {name: [] for name in found}
        for seed in range(cfg.seed, cfg.seed + seeds):
            run = Run(replace(cfg, norm=norm, seed=seed), probe=False, frames=False)
            run.task = FewSamples(run.task, samples)  # type: ignore[assignment]
            looks: list[tuple[float, float, float]] = []
            for at in wanted:
                while run.step < at and not run.done:
                    run.advance(at - run.step, SLICE_SECONDS)
                    yield (done + 0.8 * run.step / cfg.steps) / total
                looks.append(losses(run))
            for at, name in enumerate(("train", "held_out", "accuracy")):
                rows[name].append([one[at] for one in looks])
            still = replace(still_of(run), task=AllOfThem(run.task.task, samples))  # type: ignore[attr-defined,arg-type]
            rows["rise"].append(rise(still))
            yield (done + 0.85) / total
            rows["sharpness"].append((yield from _sharpness(still, (done + 0.85) / total, 0.15 / total)))
            done += 1
        for name, by_seed in rows.items():
            found[name].append(by_seed)
    return Overfitting(np.array(wanted), **{name: np.array(values) for name, values in found.items()})


@torch.no_grad()
def losses(run: Run) -> tuple[float, float, float]:
    """Loss on the samples of training, and held-out loss and accuracy, in eval mode."""
    few = run.task
    assert isinstance(few, FewSamples)
    with evaluating(run.model):
        train = cross_entropy(run.model(few.x), few.y).item()
    return (train, *held_out(run.model, few.task)[:2])


@torch.no_grad()
def rise(still: Still) -> float:
    """The median of how much the loss of the batch rises along
    random filter-normalised directions, REACH filters away.
    """
    model, (x, y) = still.copy(), still.batch()
    middle = cross_entropy(model(x), y).item()
    higher = []
    for which in range(DIRECTIONS):
        moved: Net = still.copy()
        for (_, p), along in zip(
            matrices(moved), direction(moved, still.cfg.seed, f"few samples {which}"), strict=True
        ):
            p.add_(along, alpha=REACH)
        higher.append(cross_entropy(moved(x), y).item() - middle)
    return float(np.median(higher))


def _sharpness(still: Still, low: float, share: float) -> Work[float]:
    """The largest eigenvalue of the Hessian of the batch's loss; NaN where it is not finite."""
    parts, _ = yield from within(hessian(still), low, low + share / 2)
    count = sum(p.numel() for p in still.model.parameters() if p.requires_grad)
    start = torch.randn(count, generator=generator(still.cfg.seed, "sharpness"), dtype=torch.float64)
    value, *_ = yield from within(largest(parts, start), low + share / 2, low + share)
    return float(value)
