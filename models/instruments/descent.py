"""What steps of gradient descent do: how far one moves the logits, how the gradient changes along it, and how sharp the
loss gets where every step takes all samples.

Each measures SEEDS seeds, from the configuration's own on. Legend: K seeds, F looks, N steps.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from models.answers import EdgeOfStability, Smoothness, Update
from models.generator import generator
from models.instruments.curvature import sharpness_of
from models.instruments.few_samples import AllOfThem
from models.nets.norms import TokenBatchNorm
from models.spec import RunConfig
from models.training import Replays, Run, Snapshot, Work, cross_entropy, snapshot_of
from models.training.replay import even_steps, trained, within

SEEDS = 3
SAMPLES = 200  # of full-batch descent
LOOKS = 11  # at the gradient along a step, of a run
SHARPNESS_STEPS = 25  # between two measurements of the sharpness
REACH = (0.5, 1.0, 2.0, 4.0)  # how far along a step, in steps (Santurkar 2018)
SHIFT, SCALE = 0.5, 1.25  # of the noise behind a norm: a mean up to the first either way, a factor from 1 to the second


def seeds_of(cfg: RunConfig) -> list[RunConfig]:
    """The configuration with SEEDS seeds, from its own on."""
    return [replace(cfg, seed=cfg.seed + at) for at in range(SEEDS)]


# --- the change of the logits ---


def update(replays: Replays, cfg: RunConfig, *, step: int) -> Work[Update]:
    """How far a step of gradient descent moves the logits of its batch: a step of the blocks' matrices, and of all."""
    rows = []
    for at, one in enumerate(seeds_of(cfg)):
        snapshot = yield from within(replays.snapshot(one, min(step, cfg.steps)), at / SEEDS, (at + 1) / SEEDS)
        rows.append(moved(snapshot))
    matrices, everything = np.array(rows).T
    return Update(matrices, everything)


def moved(snapshot: Snapshot) -> tuple[float, float]:
    """The RMS of the change of the logits when the blocks' matrices take a step, and when all parameters do."""
    model, x, y = snapshot.exact()
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    before = model(x)
    gradients = torch.autograd.grad(cross_entropy(before, y), [p for _, p in named], allow_unused=True)
    changes = []
    for everything in (False, True):
        with torch.no_grad():
            start = [p.clone() for _, p in named]
            for (name, p), g in zip(named, gradients, strict=True):
                if g is not None and (everything or (name.startswith("stream.blocks.") and p.ndim > 1)):
                    p.sub_(g, alpha=snapshot.cfg.lr)
            changes.append((model(x) - before).square().mean().sqrt().item())
            for (_, p), old in zip(named, start, strict=True):
                p.copy_(old)
    return changes[0], changes[1]


# --- the change of the gradient ---


def smoothness(_replays: Replays, cfg: RunConfig, *, step: int, noise: bool = False) -> Work[Smoothness]:
    """How much the gradient changes along a step, at LOOKS steps of training; with `noise`, behind every batch norm."""
    steps = even_steps(min(step, cfg.steps), LOOKS)
    changes, losses = np.full((SEEDS, len(steps)), np.nan), np.full((SEEDS, max(steps[-1], 1)), np.nan)
    for seed, one in enumerate(seeds_of(cfg)):
        run = Run(one, probe=False, frames=False)
        with noisy(run.model, one.seed, on=noise):
            for look, at in enumerate(steps):
                low, high = ((seed + part / len(steps)) / SEEDS for part in (look, look + 1))
                yield from within(trained(run, at), low, high)
                if run.step < at:
                    break
                changes[seed, look] = gradient_change(run)
        losses[seed, : run.step] = run.trace().loss[: run.step]
    return Smoothness(np.array(steps), changes, losses)


def gradient_change(run: Run) -> float:
    """The largest |g(w - t lr g) - g(w)| / |g(w)| over t in REACH, on the batch of the run's next step."""
    x, y = run.next_batch()
    parameters = [p for p in run.model.parameters() if p.requires_grad]

    def gradient() -> list[Tensor]:
        return list(torch.autograd.grad(cross_entropy(run.model(x), y), parameters, materialize_grads=True))

    buffers = [buffer.clone() for buffer in run.model.buffers()]
    here, start, largest = gradient(), [p.detach().clone() for p in parameters], 0.0
    for t in REACH:
        _put(parameters, [old - t * run.cfg.lr * g for old, g in zip(start, here, strict=True)])
        away = gradient()
        difference = _length([a - g for a, g in zip(away, here, strict=True)])
        largest = max(largest, difference / max(_length(here), 1e-30))
    _put(parameters, start)
    _put(list(run.model.buffers()), buffers)
    return largest


@contextmanager
def noisy(model: nn.Module, seed: int, *, on: bool = True) -> Iterator[None]:
    """Behind every batch norm, a mean and a factor for each feature that are drawn anew at every forward pass."""
    source = generator(seed, "noise behind a norm")

    def disturbed(_module: nn.Module, _given: object, x: Tensor) -> Tensor:
        mean, factor = (torch.rand(x.shape[-1], generator=source).to(x) for _ in range(2))
        return x * (1 + (SCALE - 1) * factor) + SHIFT * (2 * mean - 1)

    norms = [module for module in model.modules() if isinstance(module, TokenBatchNorm)] if on else []
    hooks = [module.register_forward_hook(disturbed) for module in norms]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _put(tensors: list[nn.Parameter] | list[Tensor], values: list[Tensor]) -> None:
    with torch.no_grad():
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(value)


def _length(parts: list[Tensor]) -> float:
    return float(torch.stack([part.double().square().sum() for part in parts]).sum().sqrt())


# --- sharpness under full-batch descent ---


def edge_of_stability(_replays: Replays, cfg: RunConfig, *, step: int) -> Work[EdgeOfStability]:
    """The sharpness every SHARPNESS_STEPS steps up to `step` where every step takes the same SAMPLES samples."""
    last = min(step, cfg.steps)
    steps = [*range(0, last + 1, SHARPNESS_STEPS)]
    values, losses = np.full((SEEDS, len(steps)), np.nan), np.full((SEEDS, max(last, 1)), np.nan)
    for seed, one in enumerate(seeds_of(cfg)):
        run, start = Run(one, probe=False, frames=False), None
        run.task = AllOfThem(run.task, SAMPLES)  # type: ignore[assignment]
        for look, at in enumerate(steps):
            low, middle, high = ((seed + (look + part) / len(steps)) / SEEDS for part in (0, 0.3, 1))
            yield from within(trained(run, at), low, middle)
            if run.step < at:
                break
            power, _ = yield from within(sharpness_of(snapshot_of(run), start), middle, high)
            values[seed, look], start = power.value, power.vector if power.vector.isfinite().all() else None
        yield from trained(run, last)
        losses[seed, : run.step] = run.trace().loss[: run.step]
    return EdgeOfStability(np.array(steps), values, losses, cfg.lr)


noisy_smoothness: Callable[..., Work[Smoothness]] = partial(smoothness, noise=True)
