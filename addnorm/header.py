"""The first line of a recording: the model, its training, and what is recorded."""

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
from addnorm.compiled import plain_name, unwrap_compiled
from addnorm.format import VERSION
from addnorm.sites import Site, Sites
from addnorm.skips import lacking_skips
from addnorm.trace import Graph


def build_header(
    model: nn.Module,
    optimizers: Sequence[torch.optim.Optimizer],
    *,
    created: datetime,
    every: int,
    sites: Sites,
    blocks: Iterable[Block],
    meta: Mapping[str, Any],
    ignored: Sequence[str] = (),
    details: Mapping[str, Any] | None = None,
    matrices: Sequence[str] = (),
    frozen: Sequence[str] = (),
    graph: Graph | None = None,
    unheld: Sequence[str] = (),
    unheld_blocks: Sequence[int] = (),
) -> dict[str, Any]:
    """The header as a JSON object; docs/recording.md describes its keys.

    `every`: steps from one row to the next. `meta`: the user's own entries. `ignored`: ids of findings not to report.
    `details`: further keys of the header. `matrices`: names of the trained ones, those in blocks first; `frozen`: of
    the others. `graph`: the graph of the traced forward pass, if there is one. `unheld`: trained matrices that the
    optimizer does not hold, and the indices of the blocks that have such.
    """
    blocks = list(blocks)
    parameters = list(model.parameters())
    sizes = {name: p.numel() for name, p in model.named_parameters()}
    first = parameters[0] if parameters else torch.empty(0)
    return {
        "addnorm": VERSION,
        "created": created.isoformat(timespec="seconds"),
        "model": type(unwrap_compiled(model)).__name__,
        "parameters": sum(sizes.values()),
        "trained": sum(p.numel() for p in parameters if p.requires_grad),
        "dtype": str(first.dtype).removeprefix("torch."),
        "device": str(first.device),
        "optimizer": _optimizer(optimizers[0]) if optimizers else None,
        **({"optimizers": list(map(_optimizer, optimizers))} if len(optimizers) > 1 else {}),
        "every": every,
        "sites": list(map(_site_entry, sites)),
        "blocks": [
            {"name": block.name, "site": block.site, "parameters": sum(sizes[name] for name in block.parameters)}
            for block in blocks
        ],
        "matrices": list(map(plain_name, matrices)),
        **({"frozen": list(map(plain_name, frozen))} if frozen else {}),
        **({"unheld": list(unheld), "unheld_blocks": list(unheld_blocks)} if unheld else {}),
        **(_graph_entries(graph, sites, matrices) if graph else {}),
        **({"skipless": lacks} if graph and (lacks := list(map(list, lacking_skips(graph, model)))) else {}),
        **(details or {}),
        "notes": list(sites.notes),
        "ignored": list(ignored),
        "versions": {"addnorm": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "meta": dict(meta),
    }


def _site_entry(site: Site) -> dict[str, Any]:
    entry = {
        "name": site.name,
        "kind": site.kind,
        "module": site.module,
        "side": site.place.side,
        "key": site.place.key,
        "call": site.place.call,
    }
    if site.place.is_base:
        entry["whole"] = True
    return entry | {"shape": list(site.shape), "dtype": site.dtype}


def _graph_entries(graph: Graph, sites: Sites, matrices: Sequence[str]) -> dict[str, Any]:
    """Calls of each site's module, and the cuts of the graph, each with the matrices before it."""
    index_of = {name: index for index, name in enumerate(matrices)}
    cuts: dict[tuple[int, ...], str] = {}
    for cut in graph.cuts:
        upstream_names = {*graph.parameters(before=cut.node), *cut.parameters}
        upstream = tuple(sorted(index_of[name] for name in upstream_names if name in index_of))
        if upstream:
            cuts.setdefault(upstream, cut.label)  # of cuts with the same matrices before them, the first
    entries: dict[str, Any] = {"calls": [graph.calls.get(id(site.place.module), 1) for site in sites]}
    if cuts:
        entries["cuts"] = [[label, list(upstream)] for upstream, label in cuts.items()]
    return entries


def _optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """An optimiser's name and the settings of its first group; of several groups, also their differing settings."""
    groups = [_settings(group) for group in optimizer.param_groups]
    first = groups[0]
    entry = {"name": type(optimizer).__name__, **first}
    if len(groups) > 1:
        entry["groups"] = []
        for group, settings in zip(optimizer.param_groups, groups, strict=True):
            differing = {key: value for key, value in settings.items() if first.get(key) != value}
            entry["groups"].append({"parameters": sum(p.numel() for p in group["params"]), **differing})
    return entry


def _settings(group: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a group that JSON can represent: numbers, texts, and lists of them."""
    settings: dict[str, Any] = {}
    for key, value in group.items():
        plain = value.tolist() if isinstance(value, torch.Tensor) else value
        if isinstance(plain, tuple):
            plain = list(plain)
        if key != "params" and _is_plain(plain):
            settings[key] = plain
    return settings


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return isinstance(value, int | str) or (isinstance(value, float) and math.isfinite(value))
