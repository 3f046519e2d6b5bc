"""How far one step of gradient descent changes the logits."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from models.answers import Update
from models.spec import RunConfig
from models.training import Replays, Snapshot, Work, cross_entropy


def update(replays: Replays, cfg: RunConfig, *, step: int) -> Work[Update]:
    """How far a step moves its batch's logits, and the gradient of the last block's last matrix."""
    return logit_changes((yield from replays.snapshot(cfg, min(step, cfg.steps))))


def logit_changes(snapshot: Snapshot) -> Update:
    """RMS change of the logits if only the blocks' matrices take a step, and if all parameters do."""
    model, x, y = snapshot.exact()
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    matrices = [
        name
        for name, p in parameters.items()
        if name.startswith("stream.blocks.") and p.ndim > 1 and ".connection." not in name
    ]
    logits = model(x)
    gradients = torch.autograd.grad(cross_entropy(logits, y), [*parameters.values()], allow_unused=True)
    start = [p.detach().clone() for p in parameters.values()]
    changes = []
    for moved in (matrices, parameters):
        with torch.no_grad():
            for (name, p), gradient in zip(parameters.items(), gradients, strict=True):
                if gradient is not None and name in moved:
                    p.sub_(gradient, alpha=snapshot.cfg.lr)
            changes.append((model(x) - logits).square().mean().sqrt().item())
        copy_into([*parameters.values()], start)
    last = dict(zip(parameters, gradients, strict=True))[matrices[-1]]
    return Update(changes[0], changes[1], math.nan if last is None else last.norm().item())


def copy_into(tensors: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    """Copies values into tensors in place."""
    with torch.no_grad():
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(value)
