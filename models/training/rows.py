"""Rows: one row of numbers per step, written on the device and read back in batches."""

from collections.abc import Sequence
from functools import partial
from itertools import islice

import torch
from torch import Tensor

from addnorm.probe import STACKED, accumulate_dtype, concatenate
from addnorm.probe import norms_in as norms
from models.nets import Net
from models.spec import RunConfig, plan
from models.trace import SCALARS, Columns


def block_matrices(model: Net) -> list[list[Tensor]]:
    """The weight matrices of each block: what counts as its weights, without biases and gains."""
    return [[p for p in block.parameters() if p.ndim > 1] for block in model.stream.blocks.values()]


class RowWriter:
    """Watches a net's taps and writes row k: loss, learning rate, gradient norm, clip factor, RMS by site and block.

    `rates`: the learning rate of every step, (steps,), or (steps, K) for a row of K runs.
    """

    def __init__(self, cfg: RunConfig, net: Net, matrices: list[list[Tensor]], rates: Tensor) -> None:
        arranged = plan(cfg)
        self.columns = Columns(arranged.sites, arranged.branches, cfg.depth)
        # One more row than steps: the closing row, whose learning rate stays 0.
        self.rows = torch.zeros(cfg.steps + 1, *rates.shape[1:], self.columns.width, device=rates.device)
        self.rows[: cfg.steps, ..., SCALARS.index("lr")] = rates
        self.dtype = accumulate_dtype(rates.device)
        self._sites = len(net.stream.stream_taps)
        self._taps = [*net.stream.stream_taps, *net.stream.branch_taps]
        self.forget()
        for at, tap in enumerate(self._taps):
            tap.listener = partial(self._hear, at)
        self.matrices = matrices
        in_blocks = {id(p) for block in matrices for p in block}
        self.others = [p for p in net.parameters() if p.requires_grad and id(p) not in in_blocks]
        self._filled = torch.tensor([at for at, block in enumerate(matrices) if block], device=rates.device)
        self._root_sizes = torch.tensor([sum(p.numel() for p in block) ** 0.5 for block in matrices if block])
        self._root_sizes = self._root_sizes.to(rates.device, self.dtype)

    def gradient_norms(self) -> tuple[Tensor, Tensor]:
        """The L2 norm of the whole gradient, (), and the RMS of each block's weight gradients, (depth,)."""
        grads = [grad for block in self.matrices for p in block if (grad := p.grad) is not None]
        # Gains, biases, embedding and head: many small tensors, so one long row is cheaper than a norm each.
        others = concatenate([grad for p in self.others if (grad := p.grad) is not None])
        others = torch.linalg.vector_norm(others, dim=0, keepdim=True, dtype=self.dtype)
        blocks = others.new_zeros(len(self.matrices))
        if grads:
            by_block = group_norms(grads, [len(block) for block in self.matrices if block], self.dtype)
            others = torch.cat((others, by_block))
            blocks = blocks.index_copy(0, self._filled, by_block / self._root_sizes)
        return torch.linalg.vector_norm(others), blocks

    def write(self, k: int, loss: Tensor, grad_norm: Tensor, clip_factor: Tensor, weight_grad_rms: Tensor) -> None:
        """Fills row k from what the taps heard in this step, and lets the step's tensors go."""
        scalars = (loss.to(self.dtype), self.rows[k, 1].to(self.dtype), grad_norm, clip_factor.to(self.dtype))
        stream, grads, branch = self.tensors()
        with torch.no_grad():
            series = _rms([*stream, *grads, *branch], self.dtype)
            self.rows[k] = torch.cat((torch.stack(scalars), series, weight_grad_rms))
        self.forget()

    def tensors(self) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """The stream of the last pass by site, the gradients that came back to it, and the branches."""
        stream = self._heard[: self._sites]
        return stream, [grad for x in stream if (grad := x.grad) is not None], self._heard[self._sites :]

    def forget(self) -> None:
        """Lets the tensors of the last step go."""
        self._heard = [torch.empty(0)] * len(self._taps)

    def remove(self) -> None:
        """Listens to the taps no longer."""
        for tap in self._taps:
            tap.listener = None

    def _hear(self, at: int, x: Tensor) -> None:
        self._heard[at] = x
        if at < self._sites and x.requires_grad:
            x.retain_grad()


def group_norms(tensors: Sequence[Tensor], groups: Sequence[int], dtype: torch.dtype) -> Tensor:
    """The L2 norm over each group of neighbouring tensors, (G,); `groups` says how many tensors each group has."""
    left = iter(tensors)
    sizes = [sum(t.numel() for t in islice(left, count)) for count in groups]
    if max(sizes) <= STACKED and len(set(sizes)) == 1:
        return torch.linalg.vector_norm(concatenate(tensors).view(len(groups), -1), dim=1, dtype=dtype)
    squares = norms(tensors, dtype).square()
    if len(set(groups)) == 1:
        return squares.view(len(groups), -1).sum(1).sqrt()
    return torch.stack([group.sum() for group in squares.split(list(groups))]).sqrt()


def _rms(tensors: list[Tensor], dtype: torch.dtype) -> Tensor:
    sizes = {tensor.numel() for tensor in tensors}
    root = sizes.pop() ** 0.5 if len(sizes) == 1 else torch.tensor([t.numel() ** 0.5 for t in tensors], dtype=dtype)
    lengths = norms(tensors, dtype)
    return lengths / (root.to(lengths.device) if isinstance(root, Tensor) else root)
