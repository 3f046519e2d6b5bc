"""How far the gradient changes along a training step, with noise behind every batch norm or without.

Legend: F measured steps.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from exhibits.papers.smoother.answer import NOISY_SMOOTHNESS, SMOOTHNESS, Smoothness
from models.generator import generator
from models.instruments.update import copy_into
from models.nets.norms import TokenBatchNorm
from models.spec import RunConfig
from models.training import Replays, Run, Work, cross_entropy
from models.training.replay import evenly_spaced_steps, rescale_progress, train_to

GRADIENT_STEPS = 11  # steps of a run at which the gradient along a step is measured
REACHES = (0.5, 1.0, 2.0, 4.0)  # distances along a step, in steps (Santurkar 2018)
# Bounds of the noise behind a norm: it adds -MAX_SHIFT to MAX_SHIFT, and multiplies by 1 to MAX_SCALE.
MAX_SHIFT = 0.5
MAX_SCALE = 1.25


def smoothness(_replays: Replays, cfg: RunConfig, *, step: int, noise: bool = False) -> Work[Smoothness]:
    """Change of the gradient along a step, at GRADIENT_STEPS steps; `noise` adds noise behind every batch norm."""
    steps = evenly_spaced_steps(min(step, cfg.steps), GRADIENT_STEPS)
    changes = np.full(len(steps), np.nan)
    losses = np.full(max(steps[-1], 1), np.nan)
    run = Run(cfg, probe=False, frames=False)
    with noise_behind_norms(run.model, cfg.seed) if noise else nullcontext():
        for at, step_to_measure in enumerate(steps):
            yield from rescale_progress(train_to(run, step_to_measure), at / len(steps), (at + 1) / len(steps))
            if run.step < step_to_measure:
                break
            changes[at] = gradient_change(run)
    losses[: run.step] = run.trace().loss[: run.step]
    return Smoothness(np.array(steps), changes, losses)


def gradient_change(run: Run) -> float:
    """Largest |g(w - t lr g) - g(w)| / |g(w)| over t in REACHES, on the batch of the run's next step."""
    x, y = run.next_batch()
    parameters = [p for p in run.model.parameters() if p.requires_grad]

    def gradient() -> list[Tensor]:
        return list(torch.autograd.grad(cross_entropy(run.model(x), y), parameters, materialize_grads=True))

    buffers = [buffer.clone() for buffer in run.model.buffers()]
    start = [p.detach().clone() for p in parameters]
    gradient_here = gradient()
    largest = 0.0
    for t in REACHES:
        copy_into(parameters, [p - t * run.cfg.lr * g for p, g in zip(start, gradient_here, strict=True)])
        difference = _length([there - here for there, here in zip(gradient(), gradient_here, strict=True)])
        largest = max(largest, difference / max(_length(gradient_here), 1e-30))
    copy_into(parameters, start)
    copy_into(list(run.model.buffers()), buffers)
    return largest


@contextmanager
def noise_behind_norms(model: nn.Module, seed: int) -> Iterator[None]:
    """Shifts and scales each feature behind every batch norm, by numbers drawn anew at every forward pass."""
    source = generator(seed, "noise behind a norm")

    def add_noise(_module: nn.Module, _inputs: object, x: Tensor) -> Tensor:
        mean, factor = (torch.rand(x.shape[-1], generator=source).to(x) for _ in range(2))
        return x * (1 + (MAX_SCALE - 1) * factor) + MAX_SHIFT * (2 * mean - 1)

    hooks = [part.register_forward_hook(add_noise) for part in model.modules() if isinstance(part, TokenBatchNorm)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _length(parts: list[Tensor]) -> float:
    return float(torch.stack([part.double().square().sum() for part in parts]).sum().sqrt())


MEASURES = {SMOOTHNESS: smoothness, NOISY_SMOOTHNESS: partial(smoothness, noise=True)}
