"""Measured signal and gradient at initialisation on Gaussian input, as the laws of `theory` predict them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from models.generator import generator
from models.nets import build_model
from models.spec import TASKS, RunConfig, plan
from models.spec.tasks import MAX_TOKENS
from models.training import cross_entropy, preserve_buffers, probe_outputs
from models.training.device import resolve_device
from models.training.modes import dropout_masks, dropout_modules


@dataclass(frozen=True)
class Signal:
    """mean(x^2) and L2 norm of the gradient at every site of the stream, (K, S) each, one row for each seed.

    Average rows in log space, because a product of many random factors is log-normal.
    """

    sites: tuple[str, ...]
    mean_square: np.ndarray
    grad_norm: np.ndarray


def signal_at_init(cfg: RunConfig, seeds: Sequence[int] = (0, 1), rows: int = 256) -> Signal:
    """Runs untrained nets on Gaussian x_0 of unit mean square, in place of the embedding, with random labels.

    Each net reads `rows` tokens in all, in sequences of MAX_TOKENS for transformers. Norms run in train mode, and their
    statistics are restored; dropout draws the masks of step 0.
    """
    measured = [_measure(replace(cfg, seed=seed), rows) for seed in seeds]
    mean_square, grad_norm = (np.stack(series) for series in zip(*measured, strict=True))
    return Signal(plan(cfg).sites, mean_square, grad_norm)


def _measure(cfg: RunConfig, rows: int) -> tuple[np.ndarray, np.ndarray]:
    device = resolve_device(cfg.device)
    model = build_model(cfg).to(device)
    tokens = min(rows, MAX_TOKENS) if cfg.net == "transformer" else 1
    source = generator(cfg.seed, "signal")
    x = torch.randn(max(1, rows // tokens), tokens, cfg.width, generator=source)
    labels = torch.randint(TASKS[cfg.task].classes, x.shape[:2], generator=source)
    x = x / x.square().mean().sqrt()
    x, labels = x.to(device), labels.to(device)
    with (
        dropout_masks(dropout_modules(model), 0, cfg.seed),
        preserve_buffers(model),
        probe_outputs(model.stream.stream_taps, gradients=True) as probe,
    ):
        loss = cross_entropy(model.read_out(model.stream(x.requires_grad_())), labels)
        loss.backward()
        mean_square = [tensor.cpu().double().square().mean() for tensor in probe.tensors()]
        grad_norm = [grad.cpu().double().norm() for grad in probe.grads()]
    return torch.stack(mean_square).numpy(), torch.stack(grad_norm).numpy()
