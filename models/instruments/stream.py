"""Growth of the stream, and size and direction of each branch (ShortGPT 2403.03853; Gromov 2403.17887)."""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from addnorm.probe import accumulate_dtype
from models.answers import Stream
from models.training import Snapshot, preserve_buffers, probe_outputs


def stream(snapshot: Snapshot) -> Stream:
    """Sizes and cosines of the stream and its branches on the step's batch."""
    points, branches = stream_and_branches(snapshot)
    before, after = points[:-1], points[1:]
    return Stream(
        stream_rms=_numbers([rms(x) for x in points]),
        branch_rms=_numbers([rms(f) for f in branches]),
        share=_numbers([rms(f) / rms(x) for f, x in zip(branches, before, strict=True)]),
        neighbour_cosine=_numbers([cosine(x, y) for x, y in zip(before, after, strict=True)]),
        branch_cosine=_numbers([cosine(f, x) for f, x in zip(branches, before, strict=True)]),
    )


def stream_and_branches(snapshot: Snapshot) -> tuple[list[Tensor], list[Tensor]]:
    """The stream at every site and every branch before its add, (B, T, D) each."""
    net = snapshot.model.stream
    tensors = module_outputs(snapshot, [*net.stream_taps, *net.branch_taps])
    points, branches = tensors[: len(net.stream_taps)], tensors[len(net.stream_taps) :]
    return points, [branch.expand_as(points[0]) for branch in branches]


def module_outputs(snapshot: Snapshot, modules: Sequence[nn.Module]) -> list[Tensor]:
    """Outputs of some modules on the step's batch, in float64 where the device has it."""
    x, _ = snapshot.batch()
    with torch.no_grad(), preserve_buffers(snapshot.model), probe_outputs(modules, gradients=False) as probe:
        snapshot.model(x)
        return [tensor.to(accumulate_dtype(x.device)) for tensor in probe.tensors()]


def rms(x: Tensor) -> Tensor:
    return x.square().mean().sqrt()


def cosine(x: Tensor, y: Tensor) -> Tensor:
    """Mean cosine over tokens between two streams (..., D); NaN if every token is 0 in one of them."""
    lengths = x.norm(dim=-1) * y.norm(dim=-1)
    nonzero = lengths > 0
    if not nonzero.any():
        return lengths.new_tensor(torch.nan)
    return F.cosine_similarity(x[nonzero], y[nonzero], dim=-1, eps=0.0).mean()


def _numbers(values: list[Tensor]) -> np.ndarray:
    return torch.stack(values).float().cpu().numpy()
