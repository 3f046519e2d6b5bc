"""Dead units: ReLU units that output 0 for every token of a fixed subset, and so learn nothing from it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from models.nets import Net
from models.nets.hooks import Hook, hooked


@contextmanager
def counting_dead(net: Net, subset: Callable[[Tensor], Tensor], axes: int) -> Iterator[dict[str, Tensor]]:
    """The share of dead units by block in the last forward pass within the `with` block; empty without ReLUs.

    `subset` picks the samples from an activation's output. Of what it returns the first `axes` axes are kept, the last
    holds the units, and those between are tokens.
    """
    dead: dict[str, Tensor] = {}

    def counter(block: str) -> Hook:
        def count(_module: nn.Module, _inputs: object, output: Tensor) -> None:
            silent = subset(output) == 0
            dead[block] = silent.flatten(axes, -2).all(axes).float().mean(-1)

        return count

    relus = {
        name: [part for part in block.modules() if isinstance(part, nn.ReLU)]
        for name, block in net.stream.blocks.items()
    }
    with hooked((relu, counter(name)) for name, parts in relus.items() for relu in parts):
        yield dead


def shares(dead: dict[str, Tensor], net: Net) -> Tensor:
    """The shares with the blocks on the last axis; NaN for a block that was taken out, empty without ReLUs."""
    if not dead:
        return torch.empty(0)
    absent = torch.full_like(next(iter(dead.values())), torch.nan)
    return torch.stack([dead.get(name, absent) for name in net.stream.blocks], -1)
