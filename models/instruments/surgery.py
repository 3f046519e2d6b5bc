"""Effect of skipping, silencing, un-norming or swapping blocks of a trained net (Veit 2016, 1605.06431)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from models.answers import Lesions, Sublayers, Surgery, Without
from models.insight.surgery import OPERATIONS, SKIP, SWAP, UNNORM, ZERO, norm_slots, swappable_blocks
from models.nets import IdentitySublayer, Net
from models.nets.stacks import Stack
from models.spec.knob import check_integer
from models.spec.overrides import PARTS
from models.spec.plan import block_name
from models.tasks import TaskData
from models.tasks.base import NO_LOSS
from models.training import Snapshot, Work, cross_entropy
from models.training.modes import eval_mode

Replacements = dict[str, nn.Module]  # new modules by their path in the stack


class Silent(nn.Module):
    """Returns zeros of the input's shape; 0 * x would be NaN once x has overflowed."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


def surgery(
    snapshot: Snapshot, *, operation: str, block: int, other: int | None = None, slot: str | None = None
) -> Work[Surgery]:
    """Evaluates the held-out split in eval mode, before and after one operation on the net.

    `other` is the block to swap with, `slot` (a key of `norm_slots`) the norm to remove. ValueError for an operation, a
    block or a slot that this net does not have.
    """
    check_integer("block", block, 1, snapshot.cfg.depth)
    replacements = _replacements(snapshot, operation, block, other=other, slot=slot)
    before = evaluate_held_out(snapshot.model, snapshot.task)
    yield 0.5
    with replaced(snapshot.model.stream, replacements):
        after = evaluate_held_out(snapshot.model, snapshot.task)
    changed = (before.answers != after.answers).float().mean().item()
    return Surgery((before.loss, after.loss), (before.accuracy, after.accuracy), changed)


def lesions(snapshot: Snapshot) -> Work[Lesions]:
    """Evaluates the held-out split for the intact net, and with each block alone skipped or its branches zeroed."""
    net = snapshot.model.stream
    intact = evaluate_held_out(snapshot.model, snapshot.task)
    skipped, zeroed = [], []
    for block in range(1, snapshot.cfg.depth + 1):
        with replaced(net, skip_replacements(net, block)):
            skipped.append(evaluate_held_out(snapshot.model, snapshot.task))
        yield (block - 0.5) / snapshot.cfg.depth
        with replaced(net, zero_replacements(net, block)):
            zeroed.append(evaluate_held_out(snapshot.model, snapshot.task))
        yield block / snapshot.cfg.depth
    return Lesions(intact.loss, intact.accuracy, *_curves(skipped), *_curves(zeroed))


def sublayer_lesions(snapshot: Snapshot) -> Work[Sublayers]:
    """Evaluates the held-out split with attention or feed-forward net skipped, in each block and in all of them.

    ValueError for a net other than a transformer.
    """
    net, blocks = snapshot.model.stream, range(1, snapshot.cfg.depth + 1)
    if snapshot.cfg.net != "transformer":
        raise ValueError(f"net is {snapshot.cfg.net!r}; only a transformer has attention and feed-forward nets")
    intact = evaluate_held_out(snapshot.model, snapshot.task)
    without: dict[str, Without] = {}
    for kind_index, kind in enumerate(PARTS):
        results: list[HeldOut] = []
        in_all_blocks: Replacements = {}
        for block in blocks:
            replacements = skip_replacements(net, block, kind)
            in_all_blocks |= replacements
            with replaced(net, replacements):
                results.append(evaluate_held_out(snapshot.model, snapshot.task))
            yield (kind_index + block / snapshot.cfg.depth) / len(PARTS)
        with replaced(net, in_all_blocks):
            all_skipped = evaluate_held_out(snapshot.model, snapshot.task)
        without[kind] = Without(*_curves(results), all_skipped.loss, all_skipped.accuracy)
    return Sublayers(intact.loss, intact.accuracy, without)


class HeldOut(NamedTuple):
    """Loss and accuracy on the held-out split, and the answers (N,) at the positions that take a loss."""

    loss: float
    accuracy: float
    answers: Tensor


@torch.no_grad()
def evaluate_held_out(model: Net, task: TaskData) -> HeldOut:
    """Evaluates the held-out split in eval mode."""
    x, y = task.held_out
    with eval_mode(model):
        logits = model(x)
    has_loss = y != NO_LOSS
    answers = logits.argmax(-1)[has_loss]
    return HeldOut(cross_entropy(logits, y).item(), (answers == y[has_loss]).float().mean().item(), answers)


def _curves(results: Sequence[HeldOut]) -> tuple[np.ndarray, np.ndarray]:
    """Losses and accuracies of several evaluations."""
    return np.array([result.loss for result in results]), np.array([result.accuracy for result in results])


def skip_replacements(net: Stack, block: int, only_kind: str = "") -> Replacements:
    """The replacements that skip every sublayer of a block, or only the one of kind `only_kind`.

    ResiDual then collects nothing there; in DLCL the block outputs the sum that it reads.
    """
    kinds = [kind for kind in _children_of_block(net, block) if only_kind in ("", kind)]
    return {f"{_path(block)}.{kind}": IdentitySublayer() for kind in kinds}


def zero_replacements(net: Stack, block: int) -> Replacements:
    """The replacements that make every branch of a block 0; a sublayer that was taken out has no branch."""
    children = _children_of_block(net, block)
    kinds = [kind for kind, sublayer in children.items() if not isinstance(sublayer, IdentitySublayer)]
    return {f"{_path(block)}.{kind}.scale": Silent() for kind in kinds}


@contextmanager
def replaced(net: nn.Module, replacements: Mapping[str, nn.Module]) -> Iterator[None]:
    """Replaces modules of a net within a `with` block."""
    originals = {path: net.get_submodule(path) for path in replacements}
    _set_modules(net, replacements)
    try:
        yield
    finally:
        _set_modules(net, originals)


def _set_modules(net: nn.Module, modules: Mapping[str, nn.Module]) -> None:
    for path, module in modules.items():
        parent, _, name = path.rpartition(".")
        net.get_submodule(parent)._modules[name] = module


def _replacements(
    snapshot: Snapshot, operation: str, block: int, *, other: int | None, slot: str | None
) -> Replacements:
    if operation == SWAP:
        return _swapped_blocks(snapshot, block, other)
    if operation == SKIP:
        return skip_replacements(snapshot.model.stream, block)
    if operation == ZERO:
        return zero_replacements(snapshot.model.stream, block)
    if operation != UNNORM:
        raise ValueError(f"operation is {operation!r}; legal is one of {', '.join(OPERATIONS)}")
    slots = norm_slots(snapshot.cfg, block)
    if slot not in slots:
        legal = f"one of {', '.join(slots)}" if slots else "none: no slot of it holds one"
        raise ValueError(f"slot is {slot!r}; legal for block {block} is {legal}")
    return {slots[slot]: nn.Identity()}


def _swapped_blocks(snapshot: Snapshot, block: int, other: int | None) -> Replacements:
    """Two blocks with the same parts, each with the weights and statistics of the other."""
    swappable = swappable_blocks(snapshot.cfg, block)
    if other not in swappable:
        legal = "none: no other block is built of the same parts"
        if swappable:
            legal = f"one of {', '.join(map(str, swappable))}"
        raise ValueError(f"other is {other!r}; legal for block {block} is {legal}")
    assert other is not None
    net, copy = snapshot.model.stream, snapshot.copy().stream
    for target, source in ((block, other), (other, block)):
        copy.get_submodule(_path(target)).load_state_dict(net.get_submodule(_path(source)).state_dict())
    return {_path(swapped): copy.get_submodule(_path(swapped)) for swapped in (block, other)}


def _path(block: int) -> str:
    return f"blocks.{block_name(block)}"


def _children_of_block(net: Stack, block: int) -> dict[str, nn.Module]:
    return dict(net.get_submodule(_path(block)).named_children())
