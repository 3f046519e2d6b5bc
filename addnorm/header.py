"""The first line of a recording: the model and its training, and what is recorded of them."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import torch
from torch import nn

from addnorm import __version__
from addnorm.blocks import Block
from addnorm.compiled import core, plain_name
from addnorm.format import VERSION
from addnorm.sites import Sites
from addnorm.trace import Graph


def header(
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None,
    *,
    created: datetime,
    every: int,
    sites: Sites,
    blocks: Iterable[Block],
    meta: Mapping[str, Any],
    ignored: Sequence[str] = (),
    details: Mapping[str, Any] | None = None,
    matrices: Sequence[str] = (),
    graph: Graph | None = None,
) -> dict[str, Any]:
    """The header as JSON holds it; docs/recording.md describes its keys.

    `matrices`: names of the trained ones, those of the blocks first; `graph`: of the traced pass.
    """
    blocks = list(blocks)
    frozen = [plain_name(name) for name, p in model.named_parameters() if not p.requires_grad and p.ndim > 1]
    parameters = list(model.parameters())
    sizes = {name: p.numel() for name, p in model.named_parameters()}
    first = parameters[0] if parameters else torch.empty(0)
    return {
        "addnorm": VERSION,
        "created": created.isoformat(timespec="seconds"),
        "model": type(core(model)).__name__,
        "parameters": sum(sizes.values()),
        "trained": sum(p.numel() for p in parameters if p.requires_grad),
        "dtype": str(first.dtype).removeprefix("torch."),
        "device": str(first.device),
        "optimizer": None if optimizer is None else _optimizer(optimizer),
        "every": every,
        "sites": [
            {
                "name": site.name,
                "kind": site.kind,
                "module": site.module,
                "side": site.place.side,
                "key": site.place.key,
                "call": site.place.call,
                **({"whole": True} if site.place.whole else {}),
                "shape": list(site.shape),
                "dtype": site.dtype,
            }
            for site in sites
        ],
        "blocks": [
            {"name": block.name, "site": block.site, "parameters": sum(sizes[name] for name in block.parameters)}
            for block in blocks
        ],
        "matrices": list(map(plain_name, matrices)),
        **({"frozen": frozen} if frozen else {}),
        **(_of_graph(graph, sites, matrices) if graph else {}),
        **(details or {}),
        "notes": list(sites.notes),
        "ignored": list(ignored),
        "versions": {"addnorm": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "meta": dict(meta),
    }


def _of_graph(graph: Graph, sites: Sites, matrices: Sequence[str]) -> dict[str, Any]:
    """How often each site's module was called, and what cuts the graph, with the matrices before it."""
    at = {name: place for place, name in enumerate(matrices)}
    cuts: dict[tuple[int, ...], str] = {}
    for label, node, names in graph.cuts:
        before = tuple(sorted({at[name] for name in (*graph.parameters(before=node), *names) if name in at}))
        if before:
            cuts.setdefault(before, label)
    calls = [graph.calls.get(id(site.place.module), 1) for site in sites]
    return {"calls": calls} | ({"cuts": [[label, list(before)] for before, label in cuts.items()]} if cuts else {})


def _optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """An optimiser's name and the settings of its first group; of several groups, each with what it has of its own."""
    first, *others = groups = [_settings(group) for group in optimizer.param_groups]
    described = {"name": type(optimizer).__name__, **first}
    if others:
        counts = [sum(p.numel() for p in group["params"]) for group in optimizer.param_groups]
        differing = [{key: value for key, value in group.items() if first.get(key) != value} for group in groups]
        described["groups"] = [
            {"parameters": count, **settings} for count, settings in zip(counts, differing, strict=True)
        ]
    return described


def _settings(group: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a group that JSON holds: numbers, texts, and lists of numbers."""
    plain = {key: value.tolist() if isinstance(value, torch.Tensor) else value for key, value in group.items()}
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in plain.items() if key != "params"}
    return {key: value for key, value in plain.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return isinstance(value, int | str) or (isinstance(value, float) and math.isfinite(value))
