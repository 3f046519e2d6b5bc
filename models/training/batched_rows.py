"""One row of numbers per step and seed of a stacked net, written on the device and read back in batches.

Every tensor has the seed axis first, so each figure of a row is a norm over all axes but that one.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from addnorm.probe import STACKED, accumulate_dtype, outputs
from models.nets import Net
from models.spec import RunConfig, plan
from models.trace import Columns


class SeedRowWriter:
    """Probes a stacked net and writes row k of all K seeds; `matrices` as in one net: the weight matrices by block."""

    def __init__(
        self, cfg: RunConfig, net: Net, matrices: list[list[Tensor]], seeds: int, device: torch.device
    ) -> None:
        arranged = plan(cfg)
        self.columns = Columns(arranged.sites, arranged.branches, cfg.depth)
        self.rows = torch.zeros(
            cfg.steps + 1, seeds, self.columns.width, device=device
        )  # and the closing row, at a rate of 0
        self.seeds, self.dtype = seeds, accumulate_dtype(device)
        self.stream = outputs(net.stream.stream_taps, gradients=True)
        self.branch = outputs(net.stream.branch_taps, gradients=False)
        self.matrices = matrices
        in_blocks = {id(p) for block in matrices for p in block}
        self.others = [p for p in net.parameters() if p.requires_grad and id(p) not in in_blocks]
        sizes = [max(1, sum(p[0].numel() for p in block)) for block in matrices]
        self._root_sizes = torch.tensor(sizes, dtype=self.dtype).sqrt().to(device)

    def gradient_norms(self) -> tuple[Tensor, Tensor]:
        """The L2 norm of each seed's whole gradient, (K,), and the RMS of each block's weight gradients, (K, depth)."""
        others = seed_norms([_joined([_grad(p) for p in self.others])], self.dtype)
        by_block = block_norms(
            [[_grad(p) for p in block] for block in self.matrices], others.new_zeros(self.seeds, 1), self.dtype
        )
        return torch.linalg.vector_norm(torch.cat((others, by_block), dim=1), dim=1), by_block / self._root_sizes

    def write(self, k: int, loss: Tensor, grad_norm: Tensor, clip_factor: Tensor, weight_grad_rms: Tensor) -> None:
        """Fills row k from what the probes saw in this step; loss, grad_norm and clip_factor are (K,)."""
        scalars = (loss.to(self.dtype), self.rows[k, :, 1].to(self.dtype), grad_norm, clip_factor)
        seen = self.stream.tensors()
        root_size = seen[0][0].numel() ** 0.5
        # A sublayer that was taken out adds a single 0, which has no seed axis and whose RMS is 0 by any size.
        branch = [tensor if tensor.ndim > 1 else tensor.expand(self.seeds, 1) for tensor in self.branch.tensors()]
        row = (
            torch.stack(scalars, dim=1),
            seed_norms(seen, self.dtype) / root_size,
            seed_norms(self.stream.grads(), self.dtype) / root_size,
            seed_norms(branch, self.dtype) / root_size,
            weight_grad_rms,
        )
        self.rows[k] = torch.cat(row, dim=1)
        self.stream.forget()
        self.branch.forget()


def seed_norms(tensors: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """The L2 norm of every tensor (K, ...) by seed, (K, count), summed in `dtype`."""
    if tensors[0].numel() <= STACKED and len({tensor.shape for tensor in tensors}) == 1:
        return torch.linalg.vector_norm(
            torch.stack([tensor.flatten(1) for tensor in tensors], dim=1), dim=2, dtype=dtype
        )
    return torch.stack([torch.linalg.vector_norm(tensor.flatten(1), dim=1, dtype=dtype) for tensor in tensors], dim=1)


def block_norms(blocks: Sequence[Sequence[Tensor]], empty: Tensor, dtype: torch.dtype) -> Tensor:
    """The L2 norm over all tensors (K, ...) of each block by
    seed, (K, blocks). `empty` (K, 1) stands for a block of none.
    """
    return seed_norms([_joined(block or [empty]) for block in blocks], dtype)


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors (K, ...) side by side: (K, all their numbers)."""
    return torch.cat([tensor.flatten(1) for tensor in tensors], dim=1)


def _grad(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad
