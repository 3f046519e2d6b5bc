"""How the values of a signal are distributed, in units of their root mean square, where that is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from addnorm.cosine import GOLDEN
from addnorm.format import BIN_ENDS_RMS, BINS
from addnorm.probe import accumulate_dtype
from addnorm.rows import Fetch

MAX_VALUES = 65_536  # numbers of a tensor that are counted; of a larger one an even sample
EDGE = 1e-9  # of a bin: a value this near below an edge lies on it, and belongs to the bin above


def histograms_of(measured: Sequence[tuple[int, Tensor]]) -> list[tuple[list[int], Fetch]]:
    """Shares by bin of tensors by site, those of one size in one read: for each site BINS numbers."""
    alike: dict[tuple[torch.device, int], list[tuple[int, Tensor]]] = {}
    for at, tensor in measured:
        if (sample := values(tensor)) is not None:
            alike.setdefault((sample.device, len(sample)), []).append((at, sample))
    return [
        ([at for at, _ in group], Fetch(shares(torch.stack([sample for _, sample in group])).flatten()))
        for group in alike.values()
    ]


def values(tensor: Tensor) -> Tensor | None:
    """The numbers of a tensor, or some of a large one, (N,); None where it has none or they are not real."""
    if tensor.is_complex() or tensor.is_nested or tensor.layout is not torch.strided or not tensor.numel():
        return None
    flat, dtype = tensor.flatten(), accumulate_dtype(tensor.device)
    if len(flat) > MAX_VALUES:
        places = torch.arange(MAX_VALUES, device=tensor.device, dtype=dtype) * GOLDEN % 1 * len(flat)
        flat = flat[places.long().clamp(max=len(flat) - 1)]
    return flat.to(dtype)


def shares(x_KN: Tensor) -> Tensor:
    """Shares of the N numbers of each of K sets in BINS bins over +-BIN_ENDS_RMS times their RMS, (K, BINS).

    The outer bins also have what lies beyond. What is not finite is in no bin, and not in the RMS.
    """
    finite = x_KN.isfinite()
    x = torch.where(finite, x_KN, 0.0)
    peak = x.abs().amax(-1, keepdim=True)  # divided out first: a square may be too large or too small for a float
    x = x / torch.where(peak > 0, peak, 1.0)
    rms = (x.square().sum(-1, keepdim=True) / finite.sum(-1, keepdim=True).clamp(min=1)).sqrt()
    place = x / torch.where(rms > 0, rms, 1.0) * (BINS / (2 * BIN_ENDS_RMS)) + BINS / 2
    bins = (place + EDGE).floor().clamp(0, BINS - 1).long()
    counts = torch.zeros(len(x), BINS, dtype=x.dtype, device=x.device)
    return counts.scatter_add_(1, bins, finite.to(x.dtype)) / x.shape[1]
