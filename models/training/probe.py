"""Norms over groups of tensors. What watches a net is `addnorm.probe`, as for a net of anybody's."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from addnorm.probe import STACKED, joined
from addnorm.probe import norms_in as norms


def group_norms(tensors: Sequence[Tensor], groups: Sequence[int], dtype: torch.dtype) -> Tensor:
    """The L2 norm over each run of neighbouring tensors, (G,): `groups` says how many tensors each run holds."""
    sizes = [sum(t.numel() for t in run) for run in _runs(tensors, groups)]
    if max(sizes) <= STACKED and len(set(sizes)) == 1:
        return torch.linalg.vector_norm(joined(tensors).view(len(groups), -1), dim=1, dtype=dtype)
    squares = norms(tensors, dtype).square()
    if len(set(groups)) == 1:
        return squares.view(len(groups), -1).sum(1).sqrt()
    return torch.stack([run.sum() for run in squares.split(list(groups))]).sqrt()


def _runs(tensors: Sequence[Tensor], groups: Sequence[int]) -> Iterator[Sequence[Tensor]]:
    start = 0
    for count in groups:
        yield tensors[start : start + count]
        start += count
