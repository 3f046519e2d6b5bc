"""Distribution of a signal's values in units of their root mean square, for `detail="histograms"`."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from addnorm.cosine import GOLDEN
from addnorm.format import BIN_ENDS_RMS, BINS
from addnorm.probe import accumulate_dtype
from addnorm.rows import Fetch

MAX_VALUES = 65_536  # values of a tensor that are counted; larger tensors are sampled evenly
EDGE = 1e-9  # in bins: a value this near below an edge belongs to the bin above


def histograms_of(measured: Sequence[tuple[int, Tensor]]) -> list[tuple[list[int], Fetch]]:
    """Bin shares of tensors by site, BINS numbers per site, one read for each size."""
    groups: dict[tuple[torch.device, int], list[tuple[int, Tensor]]] = {}
    for site, tensor in measured:
        if (sample := sample_values(tensor)) is not None:
            groups.setdefault((sample.device, len(sample)), []).append((site, sample))
    return [
        ([site for site, _ in group], Fetch(bin_shares(torch.stack([sample for _, sample in group])).flatten()))
        for group in groups.values()
    ]


def sample_values(tensor: Tensor) -> Tensor | None:
    """Up to MAX_VALUES values of a tensor, shape (N,); None if it has none or they are not real."""
    if tensor.is_complex() or tensor.is_nested or tensor.layout is not torch.strided or not tensor.numel():
        return None
    flat, dtype = tensor.flatten(), accumulate_dtype(tensor.device)
    if len(flat) > MAX_VALUES:
        indices = torch.arange(MAX_VALUES, device=tensor.device, dtype=dtype) * GOLDEN % 1 * len(flat)
        flat = flat[indices.long().clamp(max=len(flat) - 1)]
    return flat.to(dtype)


def bin_shares(x_KN: Tensor) -> Tensor:
    """Shares of the N values of each of K sets in BINS bins over ±BIN_ENDS_RMS times their RMS, shape (K, BINS).

    The outer bins include all values beyond them. Values that are not finite count neither in a bin nor in the RMS.
    """
    is_finite = x_KN.isfinite()
    x = torch.where(is_finite, x_KN, 0.0)
    peak = x.abs().amax(-1, keepdim=True)  # divided out first: a square may be too large or too small for a float
    x = x / torch.where(peak > 0, peak, 1.0)
    rms = (x.square().sum(-1, keepdim=True) / is_finite.sum(-1, keepdim=True).clamp(min=1)).sqrt()
    position = x / torch.where(rms > 0, rms, 1.0) * (BINS / (2 * BIN_ENDS_RMS)) + BINS / 2
    bins = (position + EDGE).floor().clamp(0, BINS - 1).long()
    counts = torch.zeros(len(x), BINS, dtype=x.dtype, device=x.device)
    return counts.scatter_add_(1, bins, is_finite.to(x.dtype)) / x.shape[1]
