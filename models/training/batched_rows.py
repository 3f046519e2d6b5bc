"""Rows of a stacked net, one per step and run.

Every tensor has the seed axis first, so a row's numbers are norms over all other axes.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from addnorm.probe import MAX_STACKED_NUMBERS
from models.nets import Net
from models.spec import RunConfig
from models.training.rows import RowWriter


class BatchedRowWriter(RowWriter):
    """Listens to a stacked net's taps and writes row k of all K runs, (K, columns)."""

    def __init__(self, cfg: RunConfig, net: Net, matrices: list[list[Tensor]], rates: Tensor) -> None:
        super().__init__(cfg, net, matrices, rates)
        self.runs = rates.shape[1]
        sizes = [max(1, sum(p[0].numel() for p in block)) for block in matrices]
        self._root_sizes = torch.tensor(sizes, dtype=self.dtype).sqrt().to(rates.device)

    def gradient_norms(self) -> tuple[Tensor, Tensor]:
        """L2 norm of each run's whole gradient, (K,), and RMS of each block's weight gradients, (K, depth)."""
        others = norms_by_run([_flat([_grad(p) for p in self.others])], self.dtype)
        block_grads = [[_grad(p) for p in block] for block in self.matrices]
        blocks = block_norms(block_grads, others.new_zeros(self.runs, 1), self.dtype)
        total = torch.linalg.vector_norm(torch.cat((others, blocks), dim=1), dim=1)
        return total, blocks / self._root_sizes

    def write(self, k: int, loss: Tensor, grad_norm: Tensor, clip_factor: Tensor, weight_grad_rms: Tensor) -> None:
        """Fills row k from the tensors of this step; loss, grad_norm and clip_factor are (K,)."""
        scalars = (loss.to(self.dtype), self.rows[k, :, 1].to(self.dtype), grad_norm, clip_factor)
        stream, grads, branch = self.tensors()
        root_size = stream[0][0].numel() ** 0.5
        # An ablated sublayer's branch is a single 0 without a seed axis; its RMS is 0 for any size.
        branch = [tensor if tensor.ndim > 1 else tensor.expand(self.runs, 1) for tensor in branch]
        with torch.no_grad():
            series = [norms_by_run(tensors, self.dtype) / root_size for tensors in (stream, grads, branch)]
            self.rows[k] = torch.cat((torch.stack(scalars, dim=1), *series, weight_grad_rms), dim=1)
        self.clear()


def norms_by_run(tensors: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """L2 norm per run of each tensor (K, ...): (K, number of tensors), summed in `dtype`."""
    if tensors[0].numel() <= MAX_STACKED_NUMBERS and len({tensor.shape for tensor in tensors}) == 1:
        stack = torch.stack([tensor.flatten(1) for tensor in tensors], dim=1)
        return torch.linalg.vector_norm(stack, dim=2, dtype=dtype)
    return torch.stack([torch.linalg.vector_norm(tensor.flatten(1), dim=1, dtype=dtype) for tensor in tensors], dim=1)


def block_norms(blocks: Sequence[Sequence[Tensor]], empty: Tensor, dtype: torch.dtype) -> Tensor:
    """L2 norm per run over all tensors (K, ...) of each block: (K, blocks). `empty`, (K, 1), is a block without any."""
    return norms_by_run([_flat(block or [empty]) for block in blocks], dtype)


def _flat(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([tensor.flatten(1) for tensor in tensors], dim=1)


def _grad(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad
