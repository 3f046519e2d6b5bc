"""Rows of a stacked net: one row of numbers per step and run.

Every tensor has the seed axis first, so each number in a row is a norm over all axes but that one.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from addnorm.probe import STACKED
from models.nets import Net
from models.spec import RunConfig
from models.training.rows import RowWriter


class BatchedRowWriter(RowWriter):
    """Watches a stacked net and writes row k of all K runs."""

    def __init__(self, cfg: RunConfig, net: Net, matrices: list[list[Tensor]], rates: Tensor) -> None:
        super().__init__(cfg, net, matrices, rates)
        self.runs = rates.shape[1]
        sizes = [max(1, sum(p[0].numel() for p in block)) for block in matrices]
        self._root_sizes = torch.tensor(sizes, dtype=self.dtype).sqrt().to(rates.device)

    def gradient_norms(self) -> tuple[Tensor, Tensor]:
        """The L2 norm of each run's whole gradient, (K,), and the RMS of each block's weight gradients, (K, depth)."""
        others = norms_by_run([_joined([_grad(p) for p in self.others])], self.dtype)
        by_block = block_norms(
            [[_grad(p) for p in block] for block in self.matrices], others.new_zeros(self.runs, 1), self.dtype
        )
        return torch.linalg.vector_norm(torch.cat((others, by_block), dim=1), dim=1), by_block / self._root_sizes

    def write(self, k: int, loss: Tensor, grad_norm: Tensor, clip_factor: Tensor, weight_grad_rms: Tensor) -> None:
        """Fills row k from what the taps heard in this step; loss, grad_norm and clip_factor are (K,)."""
        scalars = (loss.to(self.dtype), self.rows[k, :, 1].to(self.dtype), grad_norm, clip_factor)
        stream, grads, branch = self.tensors()
        root_size = stream[0][0].numel() ** 0.5
        # A sublayer that was taken out adds a single 0, which has no seed axis and whose RMS is 0 by any size.
        branch = [tensor if tensor.ndim > 1 else tensor.expand(self.runs, 1) for tensor in branch]
        with torch.no_grad():
            series = [norms_by_run(tensors, self.dtype) / root_size for tensors in (stream, grads, branch)]
            self.rows[k] = torch.cat((torch.stack(scalars, dim=1), *series, weight_grad_rms), dim=1)
        self.forget()


def norms_by_run(tensors: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """The L2 norm of every tensor (K, ...) by run, (K, number of tensors), summed in `dtype`."""
    if tensors[0].numel() <= STACKED and len({tensor.shape for tensor in tensors}) == 1:
        return torch.linalg.vector_norm(
            torch.stack([tensor.flatten(1) for tensor in tensors], dim=1), dim=2, dtype=dtype
        )
    return torch.stack([torch.linalg.vector_norm(tensor.flatten(1), dim=1, dtype=dtype) for tensor in tensors], dim=1)


def block_norms(blocks: Sequence[Sequence[Tensor]], empty: Tensor, dtype: torch.dtype) -> Tensor:
    """The L2 norm over all tensors (K, ...) of each block by run, (K, blocks).

    `empty` (K, 1) stands in for a block without tensors.
    """
    return norms_by_run([_joined(block or [empty]) for block in blocks], dtype)


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    """All numbers of some tensors (K, ...) in one row per run."""
    return torch.cat([tensor.flatten(1) for tensor in tensors], dim=1)


def _grad(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad
