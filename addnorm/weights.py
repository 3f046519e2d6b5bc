"""The weights of a watched model: their gradients, and how far an update moves them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import torch
from torch import Tensor, nn

from addnorm.blocks import Block
from addnorm.probe import joined, norms
from addnorm.rows import Fetch, Part, parts_of

SAMPLE = 65_536  # numbers of a matrix that are compared before and after an update; of larger ones an even sample

Samples = list[tuple[int, nn.Parameter, Tensor]]  # block, matrix, and a copy of some of its numbers


class Weights:
    """The matrices of a model's blocks, and its other parameters: biases, gains and what is in no block."""

    def __init__(
        self, model: nn.Module, blocks: Sequence[Block], own: Mapping[str, nn.Parameter] = MappingProxyType({})
    ) -> None:
        """`own`: the model's parameters, in whose place functional_call may have put others for now."""
        named = {name: p if isinstance(p, nn.Parameter) else own.get(name, p) for name, p in model.named_parameters()}
        self._named = named
        self._matrices = [(at, named[name]) for at, block in enumerate(blocks) for name in block.parameters]
        in_blocks = {id(p) for _, p in self._matrices}
        self._others = [p for p in named.values() if id(p) not in in_blocks]

    def gradients(self) -> list[Part]:
        """Norms of all gradients: of the blocks' matrices as `weight_grad`, of the others as `other_grad`."""
        measured = [("weight_grad", at, p.grad.detach()) for at, p in self._matrices if p.grad is not None]
        others = _joined_by_kind(p.grad.detach() for p in self._others if p.grad is not None)
        return parts_of([*measured, *(("other_grad", 0, grad) for grad in others)])

    @property
    def names(self) -> list[str]:
        """The names of the trained parameters."""
        return [name for name, p in self._named.items() if p.requires_grad]

    def each(self) -> list[Part]:
        """Norms of the gradient of each trained parameter, as `parameter_grad`."""
        grads = ((at, self._named[name].grad) for at, name in enumerate(self.names))
        return parts_of([("parameter_grad", at, grad.detach()) for at, grad in grads if grad is not None])

    def version(self) -> int:
        """Counts the changes that were made in place to one of the gradients."""
        return next((p.grad._version for p in self._named.values() if p.grad is not None), 0)

    def samples(self) -> Samples:
        """Copies of the matrices, or of an even sample of a large one."""
        return [(at, p, _sample(p).clone()) for at, p in self._matrices]


def changes(before: Samples) -> list[Part]:
    """Norms of what matrices were, as `old`, and of how they have changed since, as `change`."""
    by_device: dict[torch.device, Samples] = {}
    for sample in before:
        by_device.setdefault(sample[2].device, []).append(sample)
    parts = []
    for device, group in by_device.items():
        dtype = torch.float64 if device.type == "cpu" else torch.float32
        moved = [_sample(p).to(dtype) - old.to(dtype) for _, p, old in group]
        targets = [(name, at, old.numel()) for name in ("change", "old") for at, _, old in group]
        factors = [p.numel() / max(1, old.numel()) for _, p, old in group] * 2
        parts.append(Part(Fetch(norms([*moved, *(old for *_, old in group)])), targets, factors))
    return parts


def _joined_by_kind(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Small tensors of one device and dtype joined in one, large ones as they are: fewer kernels."""
    groups: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
    single = []
    for tensor in tensors:
        if tensor.is_sparse or tensor.numel() > SAMPLE:
            single.append(tensor)
        else:
            groups.setdefault((tensor.device, tensor.dtype), []).append(tensor)
    return single + [joined(group) for group in groups.values()]


def _sample(parameter: nn.Parameter) -> Tensor:
    flat = parameter.detach().flatten()
    return flat[:: -(-flat.numel() // SAMPLE) or 1]
