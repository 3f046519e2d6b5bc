"""What a trained net loses when a block is taken out, a branch silenced, a norm removed or two blocks swapped (Veit 2016)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.nets import Net
from models.nets.sublayer import IdentitySublayer, Sublayer
from models.spec.plan import block_name
from models.training import Still, Work

NORM_SLOTS = ("norm_in", "norm_out", "norm_add", "norm_again")


class Silent(nn.Module):
    """0 in the shape of what comes in."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


def surgery(still: Still, *, operation: str, block: int, other: int = 0) -> Work[dict[str, Any]]:
    """Held-out loss and accuracy before and after one operation of OPERATIONS on `block` (from 1; `other` for a swap).

    ValueError for an operation or a block that is not there, and for a norm or a branch that the block does not have.
    """
    if operation not in OPERATIONS:
        raise ValueError(f"operation is {operation!r}; legal are {', '.join(OPERATIONS)}")
    for number in (block, other) if operation == "swap" else (block,):
        if not 1 <= int(number) <= still.cfg.depth:
            raise ValueError(f"block is {number}; legal is 1 to {still.cfg.depth}")
    before = judged(still)
    yield 0.5
    with operated(still.model, operation, int(block), int(other)):
        after = judged(still)
    return {"loss": [before[0], after[0]], "accuracy": [before[1], after[1]]}


def lesions(still: Still) -> Work[dict[str, Any]]:
    """The held-out loss with each block alone taken out, and with its branches alone silenced, (depth,), beside the `whole`."""
    found: dict[str, list[float]] = {"skip": [], "silence": []}
    whole, _ = judged(still)
    for block in range(1, still.cfg.depth + 1):
        for operation, losses in found.items():
            yield (block - 1) / still.cfg.depth
            with operated(still.model, operation, block):
                losses.append(judged(still)[0])
    return {"whole": whole} | {name: np.array(losses) for name, losses in found.items()}


def judged(still: Still) -> tuple[float, float]:
    """Loss and accuracy on the held-out split, in eval mode, as the tape's frames have them."""
    x, y = still.task.held_out
    still.model.eval()
    with torch.no_grad():
        logits = still.model(x)
    still.model.train()
    taken = y != -100
    right = (logits.argmax(-1) == y)[taken].float().mean()
    return F.cross_entropy(logits[taken], y[taken]).item(), right.item()


@contextmanager
def operated(net: Net, operation: str, block: int, other: int = 0) -> Iterator[None]:
    """The net with one operation done to it; as it was afterwards."""
    blocks = net.stream.blocks
    before = {name: blocks[name] for name in blocks}
    slots = [(part, dict(part._modules)) for part in net.stream.modules()]
    try:
        if operation == "swap":
            first, second = block_name(block), block_name(other)
            blocks[first], blocks[second] = before[second], before[first]
        else:
            OPERATIONS[operation](blocks[block_name(block)])  # type: ignore[arg-type]
        yield
    finally:
        for part, modules in slots:
            part._modules.update(modules)


def _skip(block: nn.ModuleDict) -> None:
    """The stream passes untouched, N_add too."""
    for kind in block:
        block[kind] = IdentitySublayer()


def _silence(block: nn.ModuleDict) -> None:
    """Every branch adds 0; a norm after the add stays."""
    for sublayer in _sublayers(block):
        sublayer.scale = Silent()


def _remove_norm(block: nn.ModuleDict) -> None:
    """Every norm slot of the block becomes the identity, those inside its branches too."""
    found = False
    for sublayer in _sublayers(block):
        for holder, slot in [(sublayer, slot) for slot in NORM_SLOTS] + [(sublayer.function, "norm_mid")]:
            if not isinstance(getattr(holder, slot, nn.Identity()), nn.Identity):
                setattr(holder, slot, nn.Identity())
                found = True
    if not found:
        raise ValueError("this block has no norm to remove")


def _sublayers(block: nn.ModuleDict) -> list[Sublayer]:
    found = [sublayer for sublayer in block.values() if isinstance(sublayer, Sublayer)]
    if not found:
        raise ValueError("this block was taken out already: it has neither branch nor norm")
    return found


OPERATIONS: dict[str, Callable[[nn.ModuleDict], None]] = {
    "skip": _skip,
    "silence": _silence,
    "remove norm": _remove_norm,
    "swap": lambda block: None,  # of two blocks: done by `operated`
}
