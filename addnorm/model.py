"""Models that cannot be watched, and the state that a pass of the recorder's own restores."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn


def unwrap_ddp(model: nn.Module) -> nn.Module:
    """The model inside a DistributedDataParallel wrapper, or the model itself."""
    return model.module if isinstance(model, nn.parallel.DistributedDataParallel) else model


def unsupported_reason(model: nn.Module) -> str:
    """One sentence on why a model cannot be watched; empty if it can."""
    class_names = {kind.__name__ for module in model.modules() for kind in type(module).__mro__}
    class_names |= {type(parameter).__name__ for parameter in model.parameters()}
    if class_names & {"FullyShardedDataParallel", "FSDPModule", "DTensor"}:
        return "This model is split over processes (FSDP), so no process has a whole weight or gradient to measure."
    if "DataParallel" in class_names:
        return (
            "This model is copied in every step (DataParallel), and the copies cannot be watched; "
            "DistributedDataParallel can."
        )
    if isinstance(model, torch.jit.ScriptModule):
        return "This model is a script (torch.jit), inside which hooks see nothing."
    return ""


@contextmanager
def preserve_state(model: nn.Module) -> Iterator[None]:
    """Restores buffers and the random states of torch, Python and numpy after a `with` block."""
    with _preserve_random_states(model), _preserve_buffers(model):
        yield


@contextmanager
def _preserve_random_states(model: nn.Module) -> Iterator[None]:
    devices = {p.device for p in model.parameters() if p.device.type not in ("cpu", "meta")}
    numpy = sys.modules.get("numpy")
    numpy_state = numpy.random.get_state() if numpy else None
    python_state = random.getstate()
    with ExitStack() as forks:
        forks.enter_context(torch.random.fork_rng(devices=[]))
        for kind in {device.type for device in devices}:
            indices = [device.index or 0 for device in devices if device.type == kind]
            forks.enter_context(torch.random.fork_rng(devices=indices, device_type=kind))
        try:
            yield
        finally:
            random.setstate(python_state)
            if numpy:
                numpy.random.set_state(numpy_state)


@contextmanager
def _preserve_buffers(model: nn.Module) -> Iterator[None]:
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
