"""What a trained net loses when a block is skipped, silenced, stripped of a norm or swapped (Veit 2016, 1605.06431)."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from models.answers import Lesions, Sublayers, Surgery, Without
from models.insight.surgery import OPERATIONS, SKIP, SWAP, UNNORM, ZERO, norm_slots, swappable_blocks
from models.nets import IdentitySublayer, Net
from models.nets.stacks import Stack
from models.spec.knob import check_whole
from models.spec.overrides import PARTS
from models.spec.plan import block_name
from models.tasks import TaskData
from models.tasks.base import NO_LOSS
from models.training import Snapshot, Work, cross_entropy
from models.training.modes import evaluating

Parts = dict[str, nn.Module]  # new modules by their path in the stack


class Silent(nn.Module):
    """Zeros of the input's shape; 0 * x would be NaN once x has overflowed."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


def surgery(
    snapshot: Snapshot, *, operation: str, block: int, other: int | None = None, slot: str | None = None
) -> Work[Surgery]:
    """The held-out split in eval mode, before and after one operation on the net.

    `other` is the block to swap with, `slot` (a key of `norm_slots`) the norm to remove. ValueError for an operation, a
    block or a slot that this net does not have.
    """
    net = snapshot.model.stream
    check_whole("block", block, 1, snapshot.cfg.depth)
    parts = _swapped(snapshot, block, other) if operation == SWAP else _parts(snapshot, operation, block, slot)
    before = held_out(snapshot.model, snapshot.task)
    yield 0.5
    with replaced(net, parts):
        after = held_out(snapshot.model, snapshot.task)
    changed = (before[2] != after[2]).float().mean().item()
    return Surgery(loss=(before[0], after[0]), accuracy=(before[1], after[1]), changed=changed)


def lesions(snapshot: Snapshot) -> Work[Lesions]:
    """The held-out split for the intact net, and with each single block skipped or its branches zeroed."""
    figures: dict[str, list[tuple[float, float]]] = {"skipped": [], "zeroed": []}
    loss, accuracy, _ = held_out(snapshot.model, snapshot.task)
    for block in range(1, snapshot.cfg.depth + 1):
        for name, parts in (("skipped", skipping), ("zeroed", zeroing)):
            with replaced(snapshot.model.stream, parts(snapshot.model.stream, block)):
                figures[name].append(held_out(snapshot.model, snapshot.task)[:2])
            yield (block - (name == "skipped") / 2) / snapshot.cfg.depth
    curves = {
        f"{name}_{what}": np.array([pair[at] for pair in pairs])
        for name, pairs in figures.items()
        for at, what in enumerate(("loss", "accuracy"))
    }
    return Lesions(loss, accuracy, **curves)


def sublayers(snapshot: Snapshot) -> Work[Sublayers]:
    """The held-out split with the attention or the feed-forward net of one block skipped, and of all blocks.

    ValueError for a net without them.
    """
    net, blocks = snapshot.model.stream, range(1, snapshot.cfg.depth + 1)
    if snapshot.cfg.net != "transformer":
        raise ValueError(f"net is {snapshot.cfg.net!r}; only a transformer has attention and feed-forward nets")
    loss, accuracy, _ = held_out(snapshot.model, snapshot.task)
    without: dict[str, Without] = {}
    for at, kind in enumerate(PARTS):
        figures = []
        for block in blocks:
            with replaced(net, skipping(net, block, kind)):
                figures.append(held_out(snapshot.model, snapshot.task)[:2])
            yield (at + block / snapshot.cfg.depth) / len(PARTS)
        with replaced(net, {place: part for block in blocks for place, part in skipping(net, block, kind).items()}):
            all_loss, all_accuracy, _ = held_out(snapshot.model, snapshot.task)
        losses, accuracies = np.array(figures).T
        without[kind] = Without(losses, accuracies, all_loss, all_accuracy)
    return Sublayers(loss, accuracy, without)


@torch.no_grad()
def held_out(model: Net, task: TaskData) -> tuple[float, float, Tensor]:
    """Loss and accuracy on the held-out split in eval mode, and the answers (N,) wherever one is asked for."""
    x, y = task.held_out
    with evaluating(model):
        logits = model(x)
    asked = y != NO_LOSS
    answers = logits.argmax(-1)[asked]
    return cross_entropy(logits, y).item(), (answers == y[asked]).float().mean().item(), answers


def skipping(net: Stack, block: int, only: str = "") -> Parts:
    """The parts that skip every sublayer of a block, or `only` the one of that kind.

    ResiDual then collects nothing there; in DLCL the block outputs the sum that it reads.
    """
    return {f"{_place(block)}.{kind}": IdentitySublayer() for kind in _sublayers(net, block) if only in ("", kind)}


def zeroing(net: Stack, block: int) -> Parts:
    """The parts that make every branch of a block 0; a sublayer that was taken out has no branch."""
    kinds = [kind for kind, sublayer in _sublayers(net, block).items() if not isinstance(sublayer, IdentitySublayer)]
    return {f"{_place(block)}.{kind}.scale": Silent() for kind in kinds}


@contextmanager
def replaced(net: nn.Module, parts: Mapping[str, nn.Module]) -> Iterator[None]:
    """Puts other modules into some places of a net within a `with` block."""
    before = {place: net.get_submodule(place) for place in parts}
    _put(net, parts)
    try:
        yield
    finally:
        _put(net, before)


def _put(net: nn.Module, parts: Mapping[str, nn.Module]) -> None:
    for place, module in parts.items():
        owner, _, name = place.rpartition(".")
        net.get_submodule(owner)._modules[name] = module


def _parts(snapshot: Snapshot, operation: str, block: int, slot: str | None) -> Parts:
    """The parts of an operation other than a swap."""
    plain: dict[str, Callable[[Stack, int], Parts]] = {SKIP: skipping, ZERO: zeroing}
    if operation in plain:
        return plain[operation](snapshot.model.stream, block)
    if operation != UNNORM:
        raise ValueError(f"operation is {operation!r}; legal is one of {', '.join(OPERATIONS)}")
    slots = norm_slots(snapshot.cfg, block)
    if slot not in slots:
        legal = f"one of {', '.join(slots)}" if slots else "none: no slot of it holds one"
        raise ValueError(f"slot is {slot!r}; legal for block {block} is {legal}")
    return {slots[slot]: nn.Identity()}


def _swapped(snapshot: Snapshot, block: int, other: int | None) -> Parts:
    """Two blocks with the same parts, each with the weights and statistics of the other."""
    fitting = swappable_blocks(snapshot.cfg, block)
    if other not in fitting:
        legal = (
            f"one of {', '.join(map(str, fitting))}" if fitting else "none: no other block is built of the same parts"
        )
        raise ValueError(f"other is {other!r}; legal for block {block} is {legal}")
    assert other is not None
    target, spare = snapshot.model.stream, snapshot.copy().stream
    for here, there in ((block, other), (other, block)):
        spare.get_submodule(_place(here)).load_state_dict(target.get_submodule(_place(there)).state_dict())
    return {_place(moved): spare.get_submodule(_place(moved)) for moved in (block, other)}


def _place(block: int) -> str:
    return f"blocks.{block_name(block)}"


def _sublayers(net: Stack, block: int) -> dict[str, nn.Module]:
    return dict(net.get_submodule(_place(block)).named_children())
