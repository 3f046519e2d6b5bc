"""Coordinate check: the size of the stream at each site over the first updates (Yang 2022, 2203.03466, section D.1)."""

import torch
from torch import Tensor

from addnorm.probe import probe_outputs
from models.spec import RunConfig
from models.training.loss import cross_entropy
from models.training.run import Run


def site_rms(cfg: RunConfig, steps: int) -> list[list[float]]:
    """RMS of each site of the stream and of the logits, after 0 ... `steps` updates on the run's first batch.

    One list per step, (steps + 1, sites + 1).
    """
    run = Run(cfg, probe=False, frames=False)
    x, y = run.next_batch()
    rows = []
    for k in range(steps + 1):
        with probe_outputs(run.model.stream.stream_taps, gradients=False) as probe:
            logits = run.model(x)
            rows.append([_rms(tensor) for tensor in (*probe.tensors(), logits)])
        if k < steps:
            run.update(k, cross_entropy(logits, y))
    return rows


def _rms(x: Tensor) -> float:
    return float(torch.linalg.vector_norm(x.detach().double()) / x.numel() ** 0.5)
