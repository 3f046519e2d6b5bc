"""The sizes of all sites of a net on one batch, before and after each of its first updates."""

import torch
from torch import Tensor

from addnorm.probe import probe_outputs
from models.spec import RunConfig
from models.training.loss import cross_entropy
from models.training.run import Run


def site_rms(cfg: RunConfig, steps: int) -> list[list[float]]:
    """Root mean squares by step (steps + 1) and site: all points of the stream, and the logits.

    Every step trains on the run's first batch.
    """
    run, rows = Run(cfg, probe=False, frames=False), []
    x, y = run.next_batch()
    for k in range(steps + 1):
        with probe_outputs(run.model.stream.stream_taps, gradients=False) as probe:
            logits = run.model(x)
            rows.append([_size(tensor) for tensor in (*probe.tensors(), logits)])
        if k < steps:
            run.update(k, cross_entropy(logits, y))
    return rows


def _size(x: Tensor) -> float:
    return float(torch.linalg.vector_norm(x.detach().double()) / x.numel() ** 0.5)
