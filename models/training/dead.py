"""Dead units: ReLU units that output 0 for every token of a fixed subset, and so learn nothing from it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from models.nets import Net
from models.nets.hooks import Hook, forward_hooks


@contextmanager
def count_dead_units(net: Net, subset: Callable[[Tensor], Tensor]) -> Iterator[dict[str, Tensor]]:
    """The share of dead units by block in the last forward pass within the `with` block; empty without ReLUs.

    `subset` picks the tokens from an activation's output, (runs, tokens, units).
    """
    dead: dict[str, Tensor] = {}

    def counter(block: str) -> Hook:
        def count(_module: nn.Module, _inputs: object, output: Tensor) -> None:
            dead[block] = (subset(output) == 0).all(1).float().mean(-1)

        return count

    relus = {
        name: [part for part in block.modules() if isinstance(part, nn.ReLU)]
        for name, block in net.stream.blocks.items()
    }
    with forward_hooks((relu, counter(name)) for name, parts in relus.items() for relu in parts):
        yield dead


def dead_shares(dead: dict[str, Tensor], net: Net) -> Tensor:
    """The shares with the blocks on the last axis; NaN for a block that was taken out."""
    absent = torch.full_like(next(iter(dead.values())), torch.nan)
    return torch.stack([dead.get(name, absent) for name in net.stream.blocks], -1)
