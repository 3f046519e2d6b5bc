"""Effect of skipping, silencing, un-norming or swapping blocks of a trained net (Veit 2016, 1605.06431)."""

import torch
from torch import Tensor, nn

from exhibits.instruments.surgery.answer import LESIONS, SURGERY, Lesions, Surgery
from exhibits.instruments.surgery.numbers import OPERATIONS, SKIP, SWAP, UNNORM, ZERO, norm_slots, swappable_blocks
from models.instruments import on_snapshot
from models.instruments.surgery import (
    Replacements,
    block_path,
    children_of_block,
    curves,
    evaluate_held_out,
    replaced,
    skip_replacements,
)
from models.nets import IdentitySublayer
from models.nets.stacks import Stack
from models.spec.knob import check_integer
from models.training import Snapshot, Work


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
    return Lesions(intact.loss, intact.accuracy, *curves(skipped), *curves(zeroed))


def zero_replacements(net: Stack, block: int) -> Replacements:
    """The replacements that make every branch of a block 0; a sublayer that was taken out has no branch."""
    children = children_of_block(net, block)
    kinds = [kind for kind, sublayer in children.items() if not isinstance(sublayer, IdentitySublayer)]
    return {f"{block_path(block)}.{kind}.scale": Silent() for kind in kinds}


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
        copy.get_submodule(block_path(target)).load_state_dict(net.get_submodule(block_path(source)).state_dict())
    return {block_path(swapped): copy.get_submodule(block_path(swapped)) for swapped in (block, other)}


MEASURES = {SURGERY: on_snapshot(surgery), LESIONS: on_snapshot(lesions)}
EXAMPLES = {SURGERY: {"operation": "skip a block", "block": 1}}  # arguments of a question that needs some
