"""The weights of a watched model: their gradients, and how far an update moves them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import torch
from torch import Tensor, nn

from addnorm.blocks import Block
from addnorm.probe import accumulate_dtype, joined, norms
from addnorm.rows import NOWHERE, Fetch, Part, parts_of

SAMPLE = 65_536  # numbers of a matrix that are compared before and after an update; of larger ones an even sample

Samples = list[tuple[int, nn.Parameter, Tensor]]  # block, matrix, and a copy of some of its numbers


class Weights:
    """The matrices of a model, those in no block last, and its other parameters: biases and gains.

    `block_of`: of each matrix; NOWHERE where the traced pass did not use it.
    """

    def __init__(
        self, model: nn.Module, blocks: Sequence[Block], own: Mapping[str, nn.Parameter] = MappingProxyType({})
    ) -> None:
        """`own`: the model's parameters, in whose place functional_call may have put others for now."""
        named = {name: p if isinstance(p, nn.Parameter) else own.get(name, p) for name, p in model.named_parameters()}
        self._named = named
        self._matrices = [(at, named[name]) for at, block in enumerate(blocks) for name in block.parameters]
        inside = {name for block in blocks for name in block.parameters}
        outside = [name for name, p in named.items() if name not in inside and p.requires_grad and p.ndim > 1]
        self._matrices += [(NOWHERE, named[name]) for name in outside]
        in_blocks = {id(p) for _, p in self._matrices}
        self._others = [p for p in named.values() if id(p) not in in_blocks]
        self._frozen = {name: p for name, p in named.items() if not p.requires_grad and p.ndim > 1}
        self.matrices = [*(name for block in blocks for name in block.parameters), *outside]
        self.block_of = [at for at, _ in self._matrices]

    def gradients(self) -> list[Part]:
        """Norms of all gradients: of the matrices each as `matrix`, of the others as `other_grad`."""
        matrices = enumerate(p for _, p in self._matrices)
        measured = [("matrix", at, p.grad.detach()) for at, p in matrices if p.grad is not None]
        others = _joined_by_kind(p.grad.detach() for p in self._others if p.grad is not None)
        return parts_of([*measured, *(("other_grad", 0, grad) for grad in others)])

    def updated_by(self, parameters: Iterable[Tensor]) -> frozenset[int]:
        """The matrices among some parameters."""
        known = {id(p) for p in parameters}
        return frozenset(at for at, (_, p) in enumerate(self._matrices) if id(p) in known)

    @property
    def frozen(self) -> list[str]:
        """The names of the matrices that were not trained at first."""
        return list(self._frozen)

    def thawed(self) -> list[int]:
        """Which of them receive a gradient."""
        return [at for at, p in enumerate(self._frozen.values()) if p.requires_grad and p.grad is not None]

    @property
    def earliest(self) -> Tensor | None:
        """The gradient of the first matrix, which comes last."""
        return self._matrices[0][1].grad if self._matrices else None

    def prints(self) -> Fetch | None:
        """Three sums of each matrix, equal for equal matrices: of an even sample, its square, and weighted by place."""
        rows = []
        for _, p in self._matrices:
            flat = _real(_sample(p)).to(accumulate_dtype(p.device))
            places = torch.linspace(1, 2, len(flat), dtype=flat.dtype, device=flat.device)
            rows.append(torch.stack([flat.sum(), flat.square().sum(), flat @ places]).cpu())
        return Fetch(torch.stack(rows).flatten()) if rows else None

    def first_equals(self, prints: Sequence[float]) -> list[int]:
        """By matrix, the first one with its shape and numbers; itself for a constant one and a unit matrix."""
        seen: dict[tuple[object, ...], int] = {}
        found = []
        for at, (_, p) in enumerate(self._matrices):
            total, square, weighted = prints[3 * at : 3 * at + 3]
            count = min(p.numel(), len(_sample(p)))
            plain = math.isclose(total * total, square * count, rel_tol=1e-9, abs_tol=1e-30) or total == square
            found.append(at if plain else seen.setdefault((p.shape, total, square, weighted), at))
        return found

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
        return [(at, p, _sample(p).clone()) for at, p in self._matrices if at != NOWHERE]


def changes(before: Samples) -> list[Part]:
    """Norms of what matrices were, as `old`, and of how they have changed since, as `change`."""
    by_device: dict[torch.device, Samples] = {}
    for sample in before:
        by_device.setdefault(sample[2].device, []).append(sample)
    parts = []
    for device, group in by_device.items():
        dtype = torch.float64 if device.type == "cpu" else torch.float32
        moved = [_real(_sample(p)).to(dtype) - _real(old).to(dtype) for _, p, old in group]
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


def _real(tensor: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones."""
    return torch.view_as_real(tensor).flatten() if tensor.is_complex() else tensor


def _sample(parameter: nn.Parameter) -> Tensor:
    flat = parameter.detach().flatten()
    return flat[:: -(-flat.numel() // SAMPLE) or 1]
