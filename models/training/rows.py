"""Rows: the numbers of a step in one row, written on the device and read back in batches."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

import torch
from torch import Tensor

from addnorm.probe import MAX_STACKED_NUMBERS, accumulate_dtype, concatenate, norms_in
from models.nets import Net
from models.spec import RunConfig, plan
from models.trace import SCALARS, Columns


def block_matrices(model: Net, is_matrix: Callable[[Tensor], bool] = lambda p: p.ndim > 1) -> list[list[Tensor]]:
    """The weight matrices of each block's branches, without biases and gains."""
    return [
        [p for name, p in block.named_parameters() if is_matrix(p) and ".connection." not in name]
        for block in model.stream.blocks.values()
    ]


class RowWriter:
    """Listens to a net's taps and writes row k in the layout of `Columns`.

    A row holds the loss, the learning rate, the L2 norm of the gradient and the clip factor, then the RMS of the
    stream and its gradient by site, of the branches, and of the weight gradients by block. `rates` is the learning rate
    of each step, (steps,), or (steps, K) for K runs.
    """

    def __init__(self, cfg: RunConfig, net: Net, matrices: list[list[Tensor]], rates: Tensor) -> None:
        stack_plan = plan(cfg)
        self.columns = Columns(stack_plan.sites, stack_plan.branches, cfg.depth)
        # The extra row is the closing row, whose learning rate stays 0.
        self.rows = torch.zeros(cfg.steps + 1, *rates.shape[1:], self.columns.width, device=rates.device)
        self.rows[: cfg.steps, ..., SCALARS.index("lr")] = rates
        self.dtype = accumulate_dtype(rates.device)
        self._sites = len(net.stream.stream_taps)
        self._taps = [*net.stream.stream_taps, *net.stream.branch_taps]
        self.clear()
        for index, tap in enumerate(self._taps):
            tap.listener = partial(self._store, index)
        self.matrices = matrices
        in_blocks = {id(p) for block in matrices for p in block}
        self.others = [p for p in net.parameters() if p.requires_grad and id(p) not in in_blocks]
        self._nonempty = torch.tensor([index for index, block in enumerate(matrices) if block], device=rates.device)
        self._root_sizes = torch.tensor([sum(p.numel() for p in block) ** 0.5 for block in matrices if block])
        self._root_sizes = self._root_sizes.to(rates.device, self.dtype)

    def gradient_norms(self) -> tuple[Tensor, Tensor]:
        """L2 norm of the whole gradient, (), and RMS of each block's weight gradients, (depth,)."""
        grads = [p.grad for block in self.matrices for p in block if p.grad is not None]
        # Gains, biases, embedding and head are many small tensors: one long row is cheaper than a norm for each.
        other_grads = concatenate([p.grad for p in self.others if p.grad is not None])
        norms = torch.linalg.vector_norm(other_grads, dim=0, keepdim=True, dtype=self.dtype)
        block_rms = norms.new_zeros(len(self.matrices))
        if grads:
            block_norms = group_norms(grads, [len(block) for block in self.matrices if block], self.dtype)
            norms = torch.cat((norms, block_norms))
            block_rms = block_rms.index_copy(0, self._nonempty, block_norms / self._root_sizes)
        return torch.linalg.vector_norm(norms), block_rms

    def write(self, k: int, loss: Tensor, grad_norm: Tensor, clip_factor: Tensor, weight_grad_rms: Tensor) -> None:
        """Fills row k from the tensors of this step, and releases them."""
        scalars = (loss.to(self.dtype), self.rows[k, 1].to(self.dtype), grad_norm, clip_factor.to(self.dtype))
        stream, grads, branch = self.tensors()
        with torch.no_grad():
            series = _rms([*stream, *grads, *branch], self.dtype)
            self.rows[k] = torch.cat((torch.stack(scalars), series, weight_grad_rms))
        self.clear()

    def tensors(self) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """The stream of the last pass by site, its gradients by site, and the branches."""
        stream, branch = self._tensors[: self._sites], self._tensors[self._sites :]
        return stream, [x.grad for x in stream if x.grad is not None], branch

    def clear(self) -> None:
        """Releases the tensors of the last step."""
        self._tensors = [torch.empty(0)] * len(self._taps)

    def remove(self) -> None:
        """Stops listening to the taps."""
        for tap in self._taps:
            tap.listener = None

    def _store(self, index: int, x: Tensor) -> None:
        self._tensors[index] = x
        if index < self._sites and x.requires_grad:
            x.retain_grad()


def group_norms(tensors: Sequence[Tensor], groups: Sequence[int], dtype: torch.dtype) -> Tensor:
    """L2 norm over each group of consecutive tensors, (G,); `groups` is the number of tensors in each."""
    remaining = iter(tensors)
    sizes = [sum(t.numel() for t in islice(remaining, count)) for count in groups]
    if max(sizes) <= MAX_STACKED_NUMBERS and len(set(sizes)) == 1:
        return torch.linalg.vector_norm(concatenate(tensors).view(len(groups), -1), dim=1, dtype=dtype)
    squares = norms_in(tensors, dtype).square()
    if len(set(groups)) == 1:
        return squares.view(len(groups), -1).sum(1).sqrt()
    return torch.stack([group.sum() for group in squares.split(list(groups))]).sqrt()


def _rms(tensors: list[Tensor], dtype: torch.dtype) -> Tensor:
    norms = norms_in(tensors, dtype)
    sizes = [tensor.numel() for tensor in tensors]
    if len(set(sizes)) == 1:
        return norms / sizes[0] ** 0.5
    return norms / torch.tensor([size**0.5 for size in sizes], dtype=dtype).to(norms.device)
