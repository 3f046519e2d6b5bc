"""The optimisers, fused: one kernel for all parameters, which is what makes a step of a deep narrow net fast."""

from collections.abc import Callable, Iterable
from functools import partial
from inspect import unwrap
from typing import Any

import torch
from torch import nn

Groups = list[dict[str, Any]]


def eager(optimizer: type[torch.optim.Optimizer]) -> Callable[..., torch.optim.Optimizer]:
    """torch's optimiser without what it wraps around itself for `torch.compile`, which nothing here uses.

    Those wrappers import torch._dynamo and sympy at the first net: as long again as torch itself takes to import.
    """
    plain = {name: unwrap(getattr(optimizer, name)) for name in ("add_param_group", "zero_grad", "step")}
    return type(optimizer.__name__, (optimizer,), plain | {"step": torch.no_grad()(plain["step"])})


SGD, ADAM, ADAMW = eager(torch.optim.SGD), eager(torch.optim.Adam), eager(torch.optim.AdamW)

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": partial(SGD, fused=True),
    "momentum": partial(SGD, momentum=0.9, fused=True),
    "adam": partial(ADAM, fused=True),
    "adamw": partial(ADAMW, fused=True),
}


def build_optimizer(
    optimizer: str, parameters: Iterable[nn.Parameter], *, lr: float, weight_decay: float
) -> torch.optim.Optimizer:
    """The optimiser of that name; weight decay pulls matrices only, never biases, gains or gates."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    groups: Groups = [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return OPTIMIZERS[optimizer](
        [group for group in groups if group["params"]] if weight_decay else trained, lr=lr, weight_decay=0.0
    )
