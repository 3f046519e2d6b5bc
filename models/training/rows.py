"""One row of numbers per step, written on the device and read back in batches."""

import torch
from torch import Tensor

from addnorm.probe import accumulate_dtype, joined, outputs
from addnorm.probe import norms_in as norms
from models.nets import Net
from models.spec import RunConfig, plan
from models.trace import SCALARS, Columns
from models.training.probe import group_norms
from models.training.schedule import learning_rates


class RowWriter:
    """Probes a net and writes row k: loss, learning rate, gradient
    norm, clip factor, then RMS by site, branch and block.

    `matrices` are the weight matrices by block: the weights of a block are its matrices, not its biases or gains.
    """

    def __init__(self, cfg: RunConfig, model: Net, device: torch.device) -> None:
        arranged = plan(cfg)
        self.columns = Columns(arranged.sites, arranged.branches, cfg.depth)
        self.rows = torch.zeros(
            cfg.steps + 1, self.columns.width, device=device
        )  # and the closing row, whose rate stays 0
        self.rows[: cfg.steps, SCALARS.index("lr")] = torch.tensor(learning_rates(cfg), device=device)
        self.dtype = accumulate_dtype(device)
        self.stream = outputs(model.stream.stream_taps, gradients=True)
        self.branch = outputs(model.stream.branch_taps, gradients=False)
        self.matrices = [[p for p in block.parameters() if p.ndim > 1] for block in model.stream.blocks.values()]
        in_blocks = {id(p) for block in self.matrices for p in block}
        self.others = [p for p in model.parameters() if p.requires_grad and id(p) not in in_blocks]
        self._filled = [at for at, block in enumerate(self.matrices) if block]
        self._root_sizes = torch.tensor([sum(p.numel() for p in block) ** 0.5 for block in self.matrices if block])
        self._root_sizes = self._root_sizes.to(device, self.dtype)

    def gradient_norms(self) -> tuple[Tensor, Tensor]:
        """The L2 norm of the whole gradient, (), and the RMS of each block's weight gradients, (depth,)."""
        grads = [grad for block in self.matrices for p in block if (grad := p.grad) is not None]
        # Gains, biases, embedding and head: many small tensors, so one long row is cheaper than a norm each.
        others = joined([grad for p in self.others if (grad := p.grad) is not None])
        others = torch.linalg.vector_norm(others, dim=0, keepdim=True, dtype=self.dtype)
        blocks = others.new_zeros(len(self.matrices))
        if grads:
            by_block = group_norms(grads, [len(block) for block in self.matrices if block], self.dtype)
            others = torch.cat((others, by_block))
            blocks = _spread(by_block / self._root_sizes, self._filled, blocks)
        return torch.linalg.vector_norm(others), blocks

    def write(self, k: int, loss: Tensor, grad_norm: Tensor, clip_factor: Tensor, weight_grad_rms: Tensor) -> None:
        """Fills row k from what the probes saw in this step."""
        scalars = torch.stack(
            (loss.to(self.dtype), self.rows[k, 1].to(self.dtype), grad_norm, clip_factor.to(self.dtype))
        )
        series = _rms([*self.stream.tensors(), *self.stream.grads(), *self.branch.tensors()], self.dtype)
        self.rows[k] = torch.cat((scalars, series, weight_grad_rms))

    def forget(self) -> None:
        """Lets the tensors of the last step go."""
        self.stream.forget()
        self.branch.forget()

    def remove(self) -> None:
        """Takes the probes off the net."""
        self.stream.remove()
        self.branch.remove()


def _rms(tensors: list[Tensor], dtype: torch.dtype) -> Tensor:
    sizes = {tensor.numel() for tensor in tensors}
    root = sizes.pop() ** 0.5 if len(sizes) == 1 else torch.tensor([t.numel() ** 0.5 for t in tensors], dtype=dtype)
    found = norms(tensors, dtype)
    return found / (root.to(found.device) if isinstance(root, Tensor) else root)


def _spread(values: Tensor, places: list[int], into: Tensor) -> Tensor:
    """Values at their places among zeros: a block that was made the identity has no weights."""
    if len(places) == len(into):
        return values
    return into.index_copy(0, torch.tensor(places, device=into.device), values)
