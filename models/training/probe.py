"""Watches the stream and the branches of a net while it trains, without ever waiting for the device.

A forward hook on every tap keeps a reference to the tensor and asks autograd to keep its gradient; one batched
read after `backward` turns everything into RMS values. Nothing is copied, nothing changes the arithmetic of the run.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

STACKED = 4096  # numbers in a tensor up to which stacking is cheaper than one kernel each


class Probe:
    """Keeps what passed through the taps of the last forward pass. `gradients`: whether `backward` shall leave theirs."""

    def __init__(self, taps: Sequence[nn.Module], *, gradients: bool) -> None:
        self.gradients = gradients
        self.seen: list[Tensor | None] = [None] * len(taps)
        self._handles: list[RemovableHandle] = [tap.register_forward_hook(self._keeper(at)) for at, tap in enumerate(taps)]

    def tensors(self) -> list[Tensor]:
        """What passed the taps, in their order."""
        return [tensor.detach() for tensor in self.seen if tensor is not None]

    def grads(self) -> list[Tensor]:
        """The gradient of the loss at each tap, after `backward`."""
        return [tensor.grad for tensor in self.seen if tensor is not None and tensor.grad is not None]

    def forget(self) -> None:
        """Lets the last pass go, so that its tensors can be freed."""
        self.seen = [None] * len(self.seen)

    def remove(self) -> None:
        """Takes the hooks off."""
        for handle in self._handles:
            handle.remove()

    def _keeper(self, at: int) -> Any:
        def keep(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            self.seen[at] = output
            if self.gradients and output.requires_grad:
                output.retain_grad()

        return keep


@contextmanager
def watching(taps: Sequence[nn.Module], *, gradients: bool) -> Iterator[Probe]:
    """A probe for the length of a block."""
    probe = Probe(taps, gradients=gradients)
    try:
        yield probe
    finally:
        probe.remove()


def accumulate_dtype(device: torch.device) -> torch.dtype:
    """Squares of 1e-25 and 1e25 leave float32, so norms are summed in float64 where the device has it."""
    return torch.float32 if device.type == "mps" else torch.float64


def norms(tensors: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """The L2 norm of every tensor, (N,), summed in `dtype`.

    Small tensors of one shape are stacked first: one kernel instead of N, which halves the cost on a CPU.
    """
    if tensors[0].numel() <= STACKED and len({tensor.shape for tensor in tensors}) == 1:
        return torch.linalg.vector_norm(torch.stack(list(tensors)).flatten(1), dim=1, dtype=dtype)
    return torch.stack(torch._foreach_norm(list(tensors), 2, dtype))


def group_norms(tensors: Sequence[Tensor], groups: Sequence[int], dtype: torch.dtype) -> Tensor:
    """The L2 norm over each run of neighbouring tensors, (G,): `groups` says how many tensors each run holds."""
    sizes = [sum(t.numel() for t in run) for run in _runs(tensors, groups)]
    if max(sizes) <= STACKED and len(set(sizes)) == 1:
        return torch.linalg.vector_norm(joined(tensors).view(len(groups), -1), dim=1, dtype=dtype)
    squares = norms(tensors, dtype).square()
    if len(set(groups)) == 1:
        return squares.view(len(groups), -1).sum(1).sqrt()
    return torch.stack([run.sum() for run in squares.split(list(groups))]).sqrt()


def joined(tensors: Sequence[Tensor]) -> Tensor:
    """All numbers of some tensors in one row, by one call however many tensors there are."""
    return torch._C._nn.flatten_dense_tensors(list(tensors))


def _runs(tensors: Sequence[Tensor], groups: Sequence[int]) -> Iterator[Sequence[Tensor]]:
    start = 0
    for count in groups:
        yield tensors[start : start + count]
        start += count
