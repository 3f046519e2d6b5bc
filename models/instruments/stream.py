"""The stream and the branches of a net on a step's batch."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from addnorm.probe import accumulate_dtype
from models.training import Snapshot, preserve_buffers, probe_outputs


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
