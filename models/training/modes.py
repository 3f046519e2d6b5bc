"""In which mode a net is measured."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Puts the net into eval mode within a `with` block."""
    model.eval()
    try:
        yield
    finally:
        model.train()


@contextmanager
def statistics_kept(model: nn.Module) -> Iterator[None]:
    """Restores a net's buffers (running statistics) after a `with` block that runs in train mode."""
    before = [(buffer, buffer.clone()) for buffer in model.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in before:
                buffer.copy_(value)
