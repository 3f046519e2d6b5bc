"""Distribution of a signal's values in units of their root mean square, for `detail="histograms"`."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from addnorm.cosine import GOLDEN_RATIO
from addnorm.format import BIN_ENDS_RMS, BINS
from addnorm.probe import accumulate_dtype
from addnorm.rows import Fetch

MAX_VALUES = 65_536  # counted per tensor; larger tensors are sampled evenly
EDGE_TOLERANCE = 1e-9  # bins; a value this close below an edge counts in the bin above


def histograms_of(measured: Sequence[tuple[int, Tensor]]) -> list[tuple[list[int], Fetch]]:
    """Histograms of (site, tensor) pairs: for each device and size, the sites and one read of BINS shares per site."""
    samples_by_size: dict[tuple[torch.device, int], dict[int, Tensor]] = {}
    for site, tensor in measured:
        sample = sample_values(tensor)
        if sample is not None:
            samples_by_size.setdefault((sample.device, len(sample)), {})[site] = sample
    fetches = []
    for samples in samples_by_size.values():
        stacked = torch.stack(list(samples.values()))
        fetches.append((list(samples), Fetch(bin_shares(stacked).flatten())))
    return fetches


def sample_values(tensor: Tensor) -> Tensor | None:
    """Up to MAX_VALUES values of a tensor, shape (N,); None if it has none or they are not real."""
    if tensor.is_complex() or tensor.is_nested or tensor.layout is not torch.strided or not tensor.numel():
        return None
    flat = tensor.flatten()
    dtype = accumulate_dtype(tensor.device)
    if len(flat) > MAX_VALUES:
        indices = torch.arange(MAX_VALUES, device=tensor.device, dtype=dtype) * GOLDEN_RATIO % 1 * len(flat)
        flat = flat[indices.long().clamp(max=len(flat) - 1)]
    return flat.to(dtype)


def bin_shares(x_KN: Tensor) -> Tensor:
    """Shares of the N values of each of K sets in BINS bins over ±BIN_ENDS_RMS times their RMS, shape (K, BINS).

    The outer bins include all values beyond them. Values that are not finite count neither in a bin nor in the RMS.
    """
    is_finite = x_KN.isfinite()
    x = torch.where(is_finite, x_KN, 0.0)
    peak = x.abs().amax(-1, keepdim=True)
    x = x / torch.where(peak > 0, peak, 1.0)  # else squares may overflow or underflow
    finite_count = is_finite.sum(-1, keepdim=True).clamp(min=1)
    rms = (x.square().sum(-1, keepdim=True) / finite_count).sqrt()
    bins_per_rms = BINS / (2 * BIN_ENDS_RMS)
    position = x / torch.where(rms > 0, rms, 1.0) * bins_per_rms + BINS / 2
    bins = (position + EDGE_TOLERANCE).floor().clamp(0, BINS - 1).long()
    counts = torch.zeros(len(x), BINS, dtype=x.dtype, device=x.device)
    return counts.scatter_add_(1, bins, is_finite.to(x.dtype)) / x.shape[1]
