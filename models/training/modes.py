"""Train mode, eval mode and dropout masks for the length of a `with` block."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import nn

from models.nets.sublayer import Dropout


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Puts a net into eval mode, and back into train mode at the end."""
    model.eval()
    try:
        yield
    finally:
        model.train()


@contextmanager
def preserve_buffers(model: nn.Module) -> Iterator[None]:
    """Restores a net's buffers, such as running statistics, at the end."""
    copies = [(buffer, buffer.clone()) for buffer in model.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in copies:
                buffer.copy_(value)


def dropout_modules(model: nn.Module) -> dict[str, Dropout]:
    return {name: module for name, module in model.named_modules() if isinstance(module, Dropout)}


@contextmanager
def dropout_masks(modules: Mapping[str, Dropout], step: int, seed: int | tuple[int, ...]) -> Iterator[None]:
    """Turns dropout on, each module with its own generator for this step and `seed`.

    A tuple of seeds gives each net of a stack its own mask. Outside the block nothing is dropped, even in train mode.
    """
    for name, module in modules.items():
        module.mask_key = (seed, "dropout", step, name)
    try:
        yield
    finally:
        for module in modules.values():
            module.mask_key = ()
