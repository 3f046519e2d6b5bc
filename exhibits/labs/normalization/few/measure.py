"""Effect of a norm on overfitting and on the flatness of the loss, in nets trained on few samples."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from exhibits.labs.normalization.few.answer import FEW_SAMPLES, Overfitting
from models.instruments.curvature import sharpness_of
from models.instruments.landscape import direction, matrices
from models.instruments.samples import FewSamples, FullBatch
from models.instruments.surgery import evaluate_held_out
from models.nets import Net
from models.spec import RunConfig
from models.spec.knob import check_integer
from models.training import Replays, Run, Snapshot, Work, cross_entropy, snapshot_of
from models.training.modes import eval_mode
from models.training.replay import evenly_spaced_steps, rescale_progress, train_to

MEASURED_STEPS = 9  # steps at which both losses are measured, including 0 and the last
DIRECTIONS = 8  # random filter-normalised directions along which the loss is measured
REACH = 0.5  # distance along each direction, in filter lengths
MIN_SAMPLES, MAX_SAMPLES = 20, 1000


def few_samples(
    _replays: Replays, cfg: RunConfig, *, norms: Sequence[str], samples: int, seeds: int = 2, step: int = 0
) -> Work[Overfitting]:
    """Trains the net with each norm and seed on the same few samples, and measures losses, sharpness and flatness.

    `step` is not used. ValueError for a number of samples outside MIN_SAMPLES to MAX_SAMPLES.
    """
    check_integer("samples", samples, MIN_SAMPLES, MAX_SAMPLES)
    steps = evenly_spaced_steps(cfg.steps, MEASURED_STEPS)
    results: dict[str, list[Any]] = {name: [] for name in ("train", "held_out", "accuracy", "sharpness", "rise")}
    cfgs = [replace(cfg, norm=norm, seed=cfg.seed + offset) for norm in norms for offset in range(seeds)]
    for done, net_cfg in enumerate(cfgs):
        work = _train_on_few(net_cfg, samples, steps)
        fields = yield from rescale_progress(work, done / len(cfgs), (done + 1) / len(cfgs))
        for name, values in fields.items():
            results[name].append(values)
    by_norm = {name: np.array(values) for name, values in results.items()}
    return Overfitting(
        np.array(steps),
        **{name: values.reshape(len(norms), seeds, *values.shape[1:]) for name, values in by_norm.items()},
    )


def _train_on_few(cfg: RunConfig, samples: int, steps: Sequence[int]) -> Work[dict[str, Any]]:
    """Trains one net, and measures the fields of `Overfitting`."""
    run = Run(cfg, probe=False, frames=False)
    run.task = FewSamples(run.task, samples)  # type: ignore[assignment]
    measured = []
    for step in steps:
        yield from rescale_progress(train_to(run, step), 0.8 * run.step / cfg.steps, 0.8 * step / cfg.steps)
        measured.append(losses(run))
    train, held_out, accuracy = zip(*measured, strict=True)
    snapshot = replace(snapshot_of(run), task=FullBatch(run.task.task, samples))  # type: ignore[attr-defined,arg-type]
    fields = {"train": train, "held_out": held_out, "accuracy": accuracy, "rise": rise(snapshot)}
    eigenvalue, _ = yield from rescale_progress(sharpness_of(snapshot), 0.85, 1.0)
    return fields | {"sharpness": eigenvalue.value}


@torch.no_grad()
def losses(run: Run) -> tuple[float, float, float]:
    """Loss on the few samples, held-out loss and held-out accuracy, in eval mode."""
    task = run.task
    assert isinstance(task, FewSamples)
    with eval_mode(run.model):
        train = cross_entropy(run.model(task.x), task.y).item()
    held_out = evaluate_held_out(run.model, task.task)
    return train, held_out.loss, held_out.accuracy


@torch.no_grad()
def rise(snapshot: Snapshot) -> float:
    """Median rise of the batch's loss at distance REACH along random filter-normalised directions."""
    model, (x, y) = snapshot.copy(), snapshot.batch()
    middle = cross_entropy(model(x), y).item()
    rises = []
    for index in range(DIRECTIONS):
        moved: Net = snapshot.copy()
        along = direction(moved, snapshot.cfg.seed, f"few samples {index}")
        for (_, p), change in zip(matrices(moved), along, strict=True):
            p.add_(change, alpha=REACH)
        rises.append(cross_entropy(moved(x), y).item() - middle)
    return float(np.median(rises))


MEASURES = {FEW_SAMPLES: few_samples}
NETS = ()  # it trains nets of its own
EXAMPLES = {FEW_SAMPLES: {"norms": ["none"], "samples": 20, "seeds": 1}}
