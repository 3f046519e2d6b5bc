"""The optimisers, fused: one kernel for all parameters, which is what makes a step of a deep narrow net fast."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import nn

Groups = list[dict[str, Any]]

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": partial(torch.optim.SGD, fused=True),
    "momentum": partial(torch.optim.SGD, momentum=0.9, fused=True),
    "adam": partial(torch.optim.Adam, fused=True),
    "adamw": partial(torch.optim.AdamW, fused=True),
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
