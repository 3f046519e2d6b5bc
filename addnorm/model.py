"""Which models can be watched."""

from __future__ import annotations

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
