"""What nn.BatchNorm1d remembers, and its treatment of small batches."""

import torch
from torch import nn

from exhibits.claims.batch_norm_momentum.answer import BATCH_NORM_MEMORY, BatchNormMemory


def batch_norm_memory() -> BatchNormMemory:
    """Running statistics of nn.BatchNorm1d with its defaults, and its outputs for small batches and in eval mode."""
    x = 3.0 + 2.0 * torch.randn(8, 4)
    norm = nn.BatchNorm1d(4)
    norm.running_mean.fill_(1.0)  # type: ignore[union-attr]
    trained = norm(x)
    old_weight = ((norm.running_mean - x.mean(0)) / (1.0 - x.mean(0))).mean().item()  # type: ignore[operator]
    variance = (norm.running_var - 0.9) / 0.1  # type: ignore[operator]
    unbiased = (variance - x.var(0)).abs().max() < (variance - x.var(0, correction=0)).abs().max()
    try:
        nn.BatchNorm1d(4)(x[:1])
        message = ""
    except ValueError as error:
        message = str(error)
    pair = nn.BatchNorm1d(4)(x[:2])
    return BatchNormMemory(
        momentum=float(norm.momentum or 0.0),
        old_weight=old_weight,
        unbiased=bool(unbiased),
        refused=message,
        pair=pair.abs().mean().item(),
        eval=(norm.eval()(x) - trained).abs().max().item(),
    )


MEASURES = {BATCH_NORM_MEMORY: batch_norm_memory}
