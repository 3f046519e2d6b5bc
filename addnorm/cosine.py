"""How alike the vectors of a stream are: the mean cosine between different ones."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from addnorm.probe import accumulate_dtype
from addnorm.rows import Fetch

SAMPLE = 16  # vectors of a tensor that are compared
MAX_NUMBERS = 16_384  # numbers of a vector; of a longer one an even sample
GOLDEN = (5**0.5 - 1) / 2  # multiples of it modulo 1 are even, and meet no position of a sequence more than others


def cosines_of(measured: Sequence[tuple[int, Tensor]]) -> list[tuple[list[int], Fetch]]:
    """Mean cosines of tensors by site, those of one shape in one read; nothing where there are no two vectors."""
    alike: dict[tuple[torch.device, torch.Size], list[tuple[int, Tensor]]] = {}
    for at, tensor in measured:
        if (sample := vectors(tensor)) is not None:
            alike.setdefault((sample.device, sample.shape), []).append((at, sample))
    return [
        ([at for at, _ in group], Fetch(mean_cosines(torch.stack([sample for _, sample in group]))))
        for group in alike.values()
    ]


def vectors(tensor: Tensor) -> Tensor | None:
    """Some vectors of a tensor, (N, D): tokens where it has three axes, else samples; None for fewer than two."""
    if tensor.ndim < 2 or tensor.is_complex() or tensor.is_nested or tensor.layout is not torch.strided:
        return None
    tokens = tensor.shape[1] if tensor.ndim == 3 else 0
    count = tensor.shape[0] * (tokens or 1)
    places = range(count) if count <= SAMPLE else sorted({int(at * GOLDEN % 1 * count) for at in range(SAMPLE)})
    if len(places) < 2 or not tensor.numel():
        return None
    samples = [tensor[divmod(at, tokens)] if tokens else tensor[at].flatten() for at in places]
    return torch.stack([sample[:: -(-len(sample) // MAX_NUMBERS)] for sample in samples])


def mean_cosines(x_KND: Tensor) -> Tensor:
    """Mean cosine between different vectors within each of K sets of N, (K,).

    Zero vectors are left out; NaN for fewer than two.
    """
    x = x_KND.to(accumulate_dtype(x_KND.device))
    length = x.norm(dim=-1, keepdim=True)
    alive = (length > 0) & length.isfinite()
    directions = torch.where(alive, x / length, 0.0)
    count = alive.sum((-2, -1))
    pairs = count * (count - 1)
    # A single vector has no pair: rounding would make its 0 / 0 infinite.
    return torch.where(pairs > 0, (directions.sum(-2).square().sum(-1) - count) / pairs, torch.nan)
