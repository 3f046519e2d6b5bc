"""The first line of a recording: the model and its training, and what is recorded of them."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import torch
from torch import nn

from addnorm import __version__
from addnorm.blocks import Block
from addnorm.format import VERSION
from addnorm.sites import Sites


def header(
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None,
    *,
    created: datetime,
    every: int,
    sites: Sites,
    blocks: Iterable[Block],
    meta: Mapping[str, Any],
) -> dict[str, Any]:
    """The header as JSON holds it; docs/recording.md describes its keys."""
    parameters = list(model.parameters())
    sizes = {name: p.numel() for name, p in model.named_parameters()}
    first = parameters[0] if parameters else torch.empty(0)
    return {
        "addnorm": VERSION,
        "created": created.isoformat(timespec="seconds"),
        "model": type(model).__name__,
        "parameters": sum(sizes.values()),
        "trained": sum(p.numel() for p in parameters if p.requires_grad),
        "dtype": str(first.dtype).removeprefix("torch."),
        "device": str(first.device),
        "optimizer": None if optimizer is None else {"name": type(optimizer).__name__, **_settings(optimizer)},
        "every": every,
        "sites": [
            {
                "name": site.name,
                "kind": site.kind,
                "module": site.module,
                "side": site.place.side,
                "key": site.place.key,
                "call": site.place.call,
                "shape": list(site.shape),
                "dtype": site.dtype,
            }
            for site in sites
        ],
        "blocks": [
            {"name": block.name, "site": block.site, "parameters": sum(sizes[name] for name in block.parameters)}
            for block in blocks
        ],
        "notes": list(sites.notes),
        "versions": {"addnorm": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "meta": dict(meta),
    }


def _settings(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """The settings of an optimiser's first group that JSON holds as they are."""
    return {key: value for key, value in optimizer.param_groups[0].items() if isinstance(value, int | float | str)}
