"""The weights of a watched model: their gradients, and the size of an update."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from types import MappingProxyType

import torch
from torch import Tensor, nn

from addnorm.blocks import Block
from addnorm.probe import accumulate_dtype, concatenate, norms
from addnorm.rows import NOWHERE, Fetch, Part, dense, parts_of

# Numbers of a matrix that are compared before and after an update; larger matrices are sampled evenly.
MAX_SAMPLE_NUMBERS = 65_536
LOW_PRECISION = (torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Sample:
    """Some numbers of a block's matrix before an update."""

    block: int
    matrix: nn.Parameter
    values: Tensor


class Weights:
    """The matrices of a model, those outside all blocks last, and its other parameters: biases and gains.

    `block_of` has the block index of each matrix, NOWHERE for those that the traced pass did not use. `registered` has
    the model's own parameters by name, because functional_call may have replaced them during this pass.
    """

    def __init__(
        self,
        model: nn.Module,
        blocks: Sequence[Block],
        registered: Mapping[str, nn.Parameter] = MappingProxyType({}),
        resting: Collection[int] = (),
    ) -> None:
        parameters = {
            name: p if isinstance(p, nn.Parameter) else registered.get(name, p) for name, p in model.named_parameters()
        }
        in_blocks = {name: index for index, block in enumerate(blocks) for name in block.parameters}
        matrices = {name: p.requires_grad or id(p) in resting for name, p in parameters.items() if p.ndim > 1}
        in_no_block = [name for name, is_trained in matrices.items() if is_trained and name not in in_blocks]
        self.matrices = [*(name for block in blocks for name in block.parameters), *in_no_block]
        self.block_of = [in_blocks.get(name, NOWHERE) for name in self.matrices]
        self._parameters = parameters
        self._matrices = [parameters[name] for name in self.matrices]
        matrix_ids = {id(p) for p in self._matrices}
        self._others = [p for p in parameters.values() if id(p) not in matrix_ids]
        self._small_others = _groups_of_small(self._others)
        small_ids = {id(p) for group in self._small_others for p in group}
        self._large_others = [p for p in self._others if id(p) not in small_ids]
        self._incoming: dict[int, Tensor] = {}  # norms of gradients as they came, by the parameter's id
        self.is_listening = False
        self.frozen = [name for name, is_trained in matrices.items() if not is_trained]

    def gradients(self) -> list[Part]:
        """Norms of all gradients: `matrix` for each matrix, `other_grad` for all other parameters."""
        with torch.no_grad():  # a gradient has a graph of its own after create_graph
            return parts_of(*self.measured_gradients())

    def measured_gradients(self) -> tuple[list[tuple[str, int, Tensor]], list[tuple[str, int, int, Tensor]]]:
        """All gradients by series and index, and the norms of those that were measured as they came."""
        incoming = self._incoming

        def grads_of(parameters: Iterable[Tensor]) -> list[Tensor]:
            return [g for p in parameters if (g := p.grad) is not None and not (incoming and id(p) in incoming)]

        measured = [
            ("matrix", index, grad)
            for index, p in enumerate(self._matrices)
            if (grad := p.grad) is not None and not (incoming and id(p) in incoming)
        ]
        small = map(grads_of, self._small_others)
        others = [*grads_of(self._large_others), *(concatenate(grads) for grads in small if grads)]
        measured += [("other_grad", 0, grad) for grad in others]
        if not incoming:
            return measured, []
        pairs = [("matrix", index, p) for index, p in enumerate(self._matrices)]
        pairs += [("other_grad", 0, p) for p in self._others]
        return measured, [(name, index, p.numel(), incoming[id(p)]) for name, index, p in pairs if id(p) in incoming]

    def have_hooks(self) -> bool:
        """Whether a hook of the loop's gets each gradient when it is there, and may use and discard it."""
        return any(map(attrgetter("_post_accumulate_grad_hooks"), self._parameters.values()))

    def listen(self) -> Callable[[], None]:
        """Measures gradients as they come, before such a hook. Returns a function that ends this."""
        self.is_listening = True
        handles = [p.register_hook(partial(self._receive, id(p))) for p in self._parameters.values() if p.requires_grad]

        def remove() -> None:
            for handle in handles:
                handle.remove()

        return remove

    def _receive(self, key: int, grad: Tensor) -> None:
        with suppress(Exception):
            self._incoming[key] = norms([dense(grad.detach())])

    def forget_incoming(self) -> None:
        self._incoming = {}

    def has_gradient(self, indices: Iterable[int]) -> bool:
        """Whether the gradient of one of these matrices is there, or was when it came."""
        return any(
            self._matrices[index].grad is not None or id(self._matrices[index]) in self._incoming for index in indices
        )

    def unheld(self, optimizers: Iterable[torch.optim.Optimizer], covered: Collection[int]) -> list[int]:
        """Indices of the matrices with a gradient that none of these optimizers holds, besides those `covered`."""
        doubtful = [i for i, p in enumerate(self._matrices) if i not in covered and p.grad is not None]
        if not doubtful:
            return []
        ids = {id(p) for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]}
        return [index for index in doubtful if id(self._matrices[index]) not in ids]

    def indices_of(self, parameters: Iterable[Tensor]) -> frozenset[int]:
        """Indices of the matrices that are among these parameters."""
        ids = {id(p) for p in parameters}
        return frozenset(index for index, p in enumerate(self._matrices) if id(p) in ids)

    def loose(self, updated: Iterable[Tensor]) -> dict[str, Tensor]:
        """By name the trained matrices that are not among `updated`."""
        ids = {id(p) for p in updated}
        return {name: p for name, p in zip(self.matrices, self._matrices, strict=True) if id(p) not in ids}

    def blocks_of(self, names: Collection[str]) -> list[int]:
        """Indices of the blocks that have matrices of these names."""
        pairs = zip(self.matrices, self.block_of, strict=True)
        return sorted({block for name, block in pairs if name in names and block != NOWHERE})

    def thawed(self) -> list[int]:
        """Indices of the matrices that were frozen at first and now receive a gradient."""
        frozen = (self._parameters[name] for name in self.frozen)
        return [index for index, p in enumerate(frozen) if p.requires_grad and p.grad is not None]

    def earliest_gradient(self, indices: Collection[int]) -> Tensor | None:
        """The gradient of the first of these matrices, which backward computes last."""
        return self._matrices[min(indices)].grad if indices else None

    def fingerprints(self) -> Fetch | None:
        """Three sums per matrix that are equal for equal matrices, shape (3 · matrices,); None without matrices.

        They are those of an even sample of its numbers, of their squares, and of the numbers weighted by position.
        """
        rows = []
        for p in self._matrices:
            flat = _real(sample_of(p)).to(accumulate_dtype(p.device))
            positions = torch.linspace(1, 2, len(flat), dtype=flat.dtype, device=flat.device)
            rows.append(torch.stack([flat.sum(), flat.square().sum(), flat @ positions]).cpu())
        return Fetch(torch.stack(rows).flatten()) if rows else None

    def first_equal(self, fingerprints: Sequence[float]) -> list[int]:
        """For each matrix the index of the first equal one. Constant and unit matrices equal only themselves."""
        first_index: dict[tuple[object, ...], int] = {}
        indices = []
        for index, p in enumerate(self._matrices):
            total, square_total, position_total = fingerprints[3 * index : 3 * index + 3]
            count = min(p.numel(), len(sample_of(p)))
            is_constant = math.isclose(total * total, square_total * count, rel_tol=1e-9, abs_tol=1e-30)
            is_unit = total == square_total
            if is_constant or is_unit:
                indices.append(index)
            else:
                key = (p.shape, total, square_total, position_total)
                indices.append(first_index.setdefault(key, index))
        return indices

    @property
    def trained_names(self) -> list[str]:
        return [name for name, p in self._parameters.items() if p.requires_grad]

    def parameter_gradients(self) -> list[Part]:
        """Norms of the gradient of each trained parameter, as `parameter_grad`."""
        grads = ((index, self._parameters[name].grad) for index, name in enumerate(self.trained_names))
        return parts_of([("parameter_grad", index, grad.detach()) for index, grad in grads if grad is not None])

    def gradient_version(self) -> int:
        """Version counter of the first gradient: it rises when the gradient changes in place."""
        return next((p.grad._version for p in self._parameters.values() if p.grad is not None), 0)

    def samples(self) -> list[Sample]:
        pairs = zip(self.block_of, self._matrices, strict=True)
        return [Sample(block, p, sample_of(p).clone()) for block, p in pairs if block != NOWHERE]


def lost_shares(samples: Sequence[Sample]) -> list[tuple[int, Fetch]]:
    """By block, of each of its matrices in low precision, how many numbers with a gradient an update left as they were.

    Each is a pair: these, and all that have a gradient.
    """
    counts = []
    for sample in samples:
        grad = sample.matrix.grad
        if sample.values.dtype in LOW_PRECISION and grad is not None and not grad.is_sparse:
            has_gradient = sample_of(grad) != 0
            is_lost = has_gradient & (sample_of(sample.matrix) == sample.values)
            counts.append((sample.block, Fetch(torch.stack([is_lost.sum(), has_gradient.sum()]))))
    return counts


def update_norms(samples: Sequence[Sample]) -> list[Part]:
    """Norms of samples taken before an update, as `old`, and of the changes since then, as `change`."""
    by_device: dict[torch.device, list[Sample]] = {}
    for sample in samples:
        by_device.setdefault(sample.values.device, []).append(sample)
    parts = []
    for device, group in by_device.items():
        dtype = torch.float64 if device.type == "cpu" else torch.float32
        old = [sample.values for sample in group]
        changes = [_real(sample_of(sample.matrix)).to(dtype) - _real(sample.values).to(dtype) for sample in group]
        targets = [(name, sample.block, sample.values.numel()) for name in ("change", "old") for sample in group]
        factors = [sample.matrix.numel() / max(1, sample.values.numel()) for sample in group]
        parts.append(Part(Fetch(norms([*changes, *old])), targets, [*factors, *factors]))
    return parts


def _groups_of_small(parameters: Iterable[Tensor]) -> list[list[Tensor]]:
    """The small vectors of each device and dtype, whose gradients are concatenated, which saves kernels."""
    groups: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
    for parameter in parameters:
        if parameter.ndim < 2 and parameter.numel() <= MAX_SAMPLE_NUMBERS:
            groups.setdefault((parameter.device, parameter.dtype), []).append(parameter)
    return list(groups.values())


def _real(tensor: Tensor) -> Tensor:
    return torch.view_as_real(tensor).flatten() if tensor.is_complex() else tensor


def sample_of(parameter: Tensor) -> Tensor:
    """Up to MAX_SAMPLE_NUMBERS evenly spaced numbers of a parameter."""
    flat = parameter.detach().flatten()
    spacing = max(1, math.ceil(flat.numel() / MAX_SAMPLE_NUMBERS))
    return flat[::spacing]
