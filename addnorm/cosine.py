"""Similarity of the vectors of a stream: the mean cosine between different ones."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from addnorm.probe import accumulate_dtype
from addnorm.rows import Fetch

SAMPLE = 16  # vectors of a tensor that are compared
MAX_NUMBERS = 16_384  # numbers per vector; longer vectors are sampled evenly
GOLDEN = (5**0.5 - 1) / 2  # its multiples modulo 1 are even, and favour no position of a sequence


def cosines_of(measured: Sequence[tuple[int, Tensor]]) -> list[tuple[list[int], Fetch]]:
    """Mean cosines of tensors by site, one read for each shape. Tensors with fewer than two vectors are left out."""
    groups: dict[tuple[torch.device, torch.Size], list[tuple[int, Tensor]]] = {}
    for site, tensor in measured:
        if (sample := sample_vectors(tensor)) is not None:
            groups.setdefault((sample.device, sample.shape), []).append((site, sample))
    return [
        ([site for site, _ in group], Fetch(mean_cosines(torch.stack([sample for _, sample in group]))))
        for group in groups.values()
    ]


def sample_vectors(tensor: Tensor) -> Tensor | None:
    """Up to SAMPLE vectors of a tensor, shape (N, D); None for fewer than two.

    The vectors are the tokens of a tensor with three axes, and the samples of any other.
    """
    if tensor.ndim < 2 or tensor.is_complex() or tensor.is_nested or tensor.layout is not torch.strided:
        return None
    tokens = tensor.shape[1] if tensor.ndim == 3 else 0
    count = tensor.shape[0] * (tokens or 1)
    indices = range(count) if count <= SAMPLE else sorted({int(k * GOLDEN % 1 * count) for k in range(SAMPLE)})
    if len(indices) < 2 or not tensor.numel():
        return None
    vectors = [tensor[divmod(index, tokens)] if tokens else tensor[index].flatten() for index in indices]
    return torch.stack([vector[:: -(-len(vector) // MAX_NUMBERS)] for vector in vectors])


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
