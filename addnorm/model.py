"""Which models can be watched, and what a pass of our own leaves as it was."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn


def bare(model: nn.Module) -> nn.Module:
    """A model without the wrapper of DistributedDataParallel."""
    return model.module if isinstance(model, nn.parallel.DistributedDataParallel) else model


def refused(model: nn.Module) -> str:
    """Why a model cannot be watched, in a sentence; empty where it can."""
    kinds = {kind.__name__ for module in model.modules() for kind in type(module).__mro__}
    kinds |= {type(parameter).__name__ for parameter in model.parameters()}
    if kinds & {"FullyShardedDataParallel", "FSDPModule", "DTensor"}:
        return "This model is split over processes (FSDP), so no process has a whole weight or gradient to measure."
    if "DataParallel" in kinds:
        return (
            "This model is copied in every step (DataParallel), and the copies cannot be watched; "
            "DistributedDataParallel can."
        )
    if "ScriptModule" in kinds:
        return "This model is a script (torch.jit), inside which hooks see nothing."
    return ""


@contextmanager
def left_as_it_was(model: nn.Module) -> Iterator[None]:
    """Puts buffers and the random states of torch, Python and numpy back after a `with` block."""
    with _random_state(model), _buffers(model):
        yield


@contextmanager
def _random_state(model: nn.Module) -> Iterator[None]:
    devices = {p.device for p in model.parameters() if p.device.type not in ("cpu", "meta")}
    state, numpy = random.getstate(), sys.modules.get("numpy")
    of_numpy = numpy.random.get_state() if numpy else None
    with ExitStack() as forks:
        forks.enter_context(torch.random.fork_rng(devices=[]))
        for kind in {device.type for device in devices}:
            places = [device.index or 0 for device in devices if device.type == kind]
            forks.enter_context(torch.random.fork_rng(devices=places, device_type=kind))
        try:
            yield
        finally:
            random.setstate(state)
            if numpy:
                numpy.random.set_state(of_numpy)


@contextmanager
def _buffers(model: nn.Module) -> Iterator[None]:
    buffers = [
        (module, name, buffer, buffer.clone())
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None
    ]
    try:
        yield
    finally:
        for module, name, buffer, before in buffers:
            module._buffers[name] = buffer
            if not torch.equal(buffer, before):
                with torch.no_grad():
                    buffer.copy_(before)
