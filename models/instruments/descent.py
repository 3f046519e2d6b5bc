"""Effects of gradient descent: change of logits, change of the gradient along a step, sharpness under full batches.

Legend: F measured steps.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from models.answers import EdgeOfStability, Smoothness, Update
from models.generator import generator
from models.instruments.curvature import sharpness_of
from models.instruments.samples import FullBatch
from models.nets.norms import TokenBatchNorm
from models.spec import RunConfig
from models.training import Replays, Run, Snapshot, Work, cross_entropy, snapshot_of
from models.training.replay import evenly_spaced_steps, rescale_progress, train_to

SAMPLES = 200  # of full-batch descent
GRADIENT_STEPS = 11  # steps of a run at which the gradient along a step is measured
SHARPNESS_STEPS = 25  # steps between two measurements of the sharpness
REACHES = (0.5, 1.0, 2.0, 4.0)  # distances along a step, in steps (Santurkar 2018)
# Bounds of the noise behind a norm: it adds -MAX_SHIFT to MAX_SHIFT, and multiplies by 1 to MAX_SCALE.
MAX_SHIFT = 0.5
MAX_SCALE = 1.25


# --- the change of the logits ---


def update(replays: Replays, cfg: RunConfig, *, step: int) -> Work[Update]:
    """How far a step moves its batch's logits, and the gradient of the last block's last matrix."""
    return logit_changes((yield from replays.snapshot(cfg, min(step, cfg.steps))))


def logit_changes(snapshot: Snapshot) -> Update:
    """RMS change of the logits if only the blocks' matrices take a step, and if all parameters do."""
    model, x, y = snapshot.exact()
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    matrices = [name for name, p in parameters.items() if name.startswith("stream.blocks.") and p.ndim > 1]
    logits = model(x)
    gradients = torch.autograd.grad(cross_entropy(logits, y), [*parameters.values()], allow_unused=True)
    start = [p.detach().clone() for p in parameters.values()]
    changes = []
    for moved in (matrices, parameters):
        with torch.no_grad():
            for (name, p), gradient in zip(parameters.items(), gradients, strict=True):
                if gradient is not None and name in moved:
                    p.sub_(gradient, alpha=snapshot.cfg.lr)
            changes.append((model(x) - logits).square().mean().sqrt().item())
        _copy_into([*parameters.values()], start)
    last = dict(zip(parameters, gradients, strict=True))[matrices[-1]]
    return Update(changes[0], changes[1], math.nan if last is None else last.norm().item())


# --- the change of the gradient ---


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
        _copy_into(parameters, [p - t * run.cfg.lr * g for p, g in zip(start, gradient_here, strict=True)])
        difference = _length([there - here for there, here in zip(gradient(), gradient_here, strict=True)])
        largest = max(largest, difference / max(_length(gradient_here), 1e-30))
    _copy_into(parameters, start)
    _copy_into(list(run.model.buffers()), buffers)
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


def _copy_into(tensors: list[nn.Parameter] | list[Tensor], values: list[Tensor]) -> None:
    with torch.no_grad():
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(value)


def _length(parts: list[Tensor]) -> float:
    return float(torch.stack([part.double().square().sum() for part in parts]).sum().sqrt())


# --- sharpness under full-batch descent ---


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


smoothness_with_noise: Callable[..., Work[Smoothness]] = partial(smoothness, noise=True)
