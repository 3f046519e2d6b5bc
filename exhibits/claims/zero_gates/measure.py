"""The first gradients of nets whose branches start at 0."""

from typing import Any

import torch

from exhibits.claims.zero_gates.answer import CLOSED_BRANCHES, ClosedBranches
from models.instruments.facts import rms
from models.spec import RunConfig
from models.training import Run, cross_entropy

FIELDS: dict[str, Any] = {"depth": 8, "width": 32, "batch": 32}


def closed_branches() -> ClosedBranches:
    """RMS of the first gradient by part, in nets whose branches start at 0: by ReZero, and by a last matrix of 0."""
    name_parts = {
        "embedding": "embed.",
        "gate": ".gate",
        "first matrix": ".w1.weight",
        "last matrix": ".w2.weight",
        "head": "head.",
    }
    nets = {
        "ReZero": RunConfig.arranged("ReZero", **FIELDS),
        "zero last": RunConfig(init="zero last", **FIELDS),
    }
    by_net: dict[str, dict[str, float]] = {}
    for net, cfg in nets.items():
        run = Run(cfg, probe=False, frames=False)
        x, y = run.next_batch()
        cross_entropy(run.model(x), y).backward()
        run.close()
        grads = {name: p.grad.flatten() for name, p in run.model.named_parameters() if p.grad is not None}
        by_net[net] = {}
        for part, name_part in name_parts.items():
            part_grads = [grad for name, grad in grads.items() if name_part in name]
            if part_grads:
                by_net[net][part] = rms(torch.cat(part_grads)).item()
    return ClosedBranches(by_net)


MEASURES = {CLOSED_BRANCHES: closed_branches}
