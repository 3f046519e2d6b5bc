"""In which mode a net is measured."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import nn

from models.nets.sublayer import Dropout


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Puts the net into eval mode within a `with` block."""
    model.eval()
    try:
        yield
    finally:
        model.train()


@contextmanager
def preserve_buffers(model: nn.Module) -> Iterator[None]:
    """Restores a net's buffers (running statistics) after a `with` block that runs in train mode."""
    before = [(buffer, buffer.clone()) for buffer in model.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in before:
                buffer.copy_(value)


def dropout_modules(model: nn.Module) -> dict[str, Dropout]:
    """The dropout modules of a net by name."""
    return {name: part for name, part in model.named_modules() if isinstance(part, Dropout)}


@contextmanager
def dropout_masks(parts: Mapping[str, Dropout], step: int, seed: int | tuple[int, ...]) -> Iterator[None]:
    """Draws the masks of a step within a `with` block, each from a generator of its own; one for each seed of several.

    Outside of it nothing is dropped, in train mode neither.
    """
    for name, part in parts.items():
        part.mask_key = (seed, "dropout", step, name)
    try:
        yield
    finally:
        for part in parts.values():
            part.mask_key = ()
