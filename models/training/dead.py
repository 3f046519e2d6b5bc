"""Counts ReLU units that give 0 for every token of a fixed subset: they learn nothing from it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from models.nets import Net


@contextmanager
def counting_dead(net: Net, first: Callable[[Tensor], Tensor], axes: int) -> Iterator[dict[str, Tensor]]:
    """By block, the share of its ReLU's units that are dead in the last forward pass made in here; empty without ReLUs.

    `first` picks the subset of an activation's output; its first `axes` axes stay, the last is the units, those between
    are tokens.
    """
    found: dict[str, Tensor] = {}

    def counter(block: str) -> Any:
        def count(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            silent = first(output) == 0
            found[block] = silent.flatten(axes, -2).all(axes).float().mean(-1)

        return count

    relus = {
        name: [part for part in block.modules() if isinstance(part, nn.ReLU)]
        for name, block in net.stream.blocks.items()
    }
    handles = [relu.register_forward_hook(counter(name)) for name, parts in relus.items() for relu in parts]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def shares(found: dict[str, Tensor], net: Net) -> Tensor:
    """What was counted, the blocks on the last axis; NaN for a block that was taken out, empty without ReLUs."""
    if not found:
        return torch.empty(0)
    none = torch.full_like(next(iter(found.values())), torch.nan)
    return torch.stack([found.get(name, none) for name in net.stream.blocks], -1)
