"""How alike the samples or tokens of a batch are at a site, by their mean cosine, and how large the largest number."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from addnorm.probe import accumulate_dtype
from addnorm.rows import Fetch

MAX_VECTORS = 16  # vectors compared per tensor; the cost grows with their number
MAX_VECTOR_NUMBERS = 16_384  # longer vectors are sampled evenly
# Multiples of the golden ratio modulo 1 spread evenly over [0, 1) and favour no position of a sequence.
GOLDEN_RATIO = (5**0.5 - 1) / 2


def cosines_of(measured: Sequence[tuple[int, Tensor]]) -> list[tuple[list[int], Fetch]]:
    """Mean cosines of (site, tensor) pairs: for each device and shape, the sites and one read of their cosines.

    Tensors with fewer than two vectors are left out.
    """
    samples_by_shape: dict[tuple[torch.device, torch.Size], dict[int, Tensor]] = {}
    for site, tensor in measured:
        sample = sample_vectors(tensor)
        if sample is not None:
            samples_by_shape.setdefault((sample.device, sample.shape), {})[site] = sample
    fetches = []
    for samples in samples_by_shape.values():
        stacked = torch.stack(list(samples.values()))
        fetches.append((list(samples), Fetch(mean_cosines(stacked))))
    return fetches


def peaks_of(measured: Sequence[tuple[int, Tensor]]) -> list[tuple[list[int], Fetch]]:
    """The largest magnitude of (site, tensor) pairs: for each device, the sites and one read of their numbers."""
    by_device: dict[torch.device, dict[int, Tensor]] = {}
    for site, tensor in measured:
        if not tensor.is_complex() and not tensor.is_nested and tensor.layout is torch.strided and tensor.numel():
            peak = torch.linalg.vector_norm(tensor.float(), float("inf"))
            by_device.setdefault(tensor.device, {})[site] = peak
    return [(list(peaks), Fetch(torch.stack(list(peaks.values())))) for peaks in by_device.values()]


def sample_vectors(tensor: Tensor) -> Tensor | None:
    """Up to MAX_VECTORS vectors of a tensor, shape (N, D); None for fewer than two.

    A tensor with three axes is split into tokens, any other into samples.
    """
    if tensor.ndim < 2 or tensor.is_complex() or tensor.is_nested or tensor.layout is not torch.strided:
        return None
    tokens = tensor.shape[1] if tensor.ndim == 3 else 0
    count = tensor.shape[0] * (tokens or 1)
    indices = list(range(count))
    if count > MAX_VECTORS:
        indices = sorted({int(k * GOLDEN_RATIO % 1 * count) for k in range(MAX_VECTORS)})
    if len(indices) < 2 or not tensor.numel():
        return None
    vectors = [tensor[divmod(index, tokens)] if tokens else tensor[index].flatten() for index in indices]
    stride = math.ceil(len(vectors[0]) / MAX_VECTOR_NUMBERS)
    return torch.stack([vector[::stride] for vector in vectors])


def mean_cosines(x_KND: Tensor) -> Tensor:
    """Mean cosine between different vectors within each of K sets of N, shape (K,).

    Zero vectors are left out; NaN for fewer than two others.
    """
    x = x_KND.to(accumulate_dtype(x_KND.device))
    length = x.norm(dim=-1, keepdim=True)
    is_usable = (length > 0) & length.isfinite()
    directions = torch.where(is_usable, x / length, 0.0)
    count = is_usable.sum((-2, -1))
    pairs = count * (count - 1)
    # A single vector has no pair: rounding would make its 0 / 0 infinite.
    return torch.where(pairs > 0, (directions.sum(-2).square().sum(-1) - count) / pairs, torch.nan)
