"""Dead units: ReLU units that output 0 for every token of a fixed subset, and so get no gradient from it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from models.nets import Net
from models.nets.hooks import Hook, forward_hooks


@contextmanager
def count_dead_units(net: Net, subset: Callable[[Tensor], Tensor]) -> Iterator[dict[str, Tensor]]:
    """Yields the share of dead units of each block, (K,), filled by each forward pass; empty without ReLUs.

    `subset` maps an activation's output to the subset's tokens, (K, tokens, units).
    """
    dead: dict[str, Tensor] = {}

    def counter(block: str) -> Hook:
        def count(_module: nn.Module, _inputs: object, output: Tensor) -> None:
            dead[block] = (subset(output) == 0).all(1).float().mean(-1)

        return count

    hooks = [
        (module, counter(name))
        for name, block in net.stream.blocks.items()
        for module in block.modules()
        if isinstance(module, nn.ReLU)
    ]
    with forward_hooks(hooks):
        yield dead


def dead_shares(dead: dict[str, Tensor], net: Net) -> Tensor:
    """Shares of dead units, (K, depth); NaN for an ablated block."""
    absent = torch.full_like(next(iter(dead.values())), torch.nan)
    return torch.stack([dead.get(name, absent) for name in net.stream.blocks], -1)
