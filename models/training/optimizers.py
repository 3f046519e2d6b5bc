"""The optimisers, fused: one kernel for all parameters keeps the steps of deep narrow nets fast."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import unwrap
from typing import Any

import torch
from torch import nn

from models.spec import RunConfig
from models.spec.parametrization import ADAM as ADAMS
from models.spec.parametrization import has_uniform_rates, parameter_scaling


def eager_optimizer(optimizer: type[torch.optim.Optimizer]) -> Callable[..., torch.optim.Optimizer]:
    """torch's optimiser without its wrappers for `torch.compile`, which nothing here uses.

    The wrappers import torch._dynamo and sympy, which takes as long again as importing torch itself.
    """
    plain = {name: unwrap(getattr(optimizer, name)) for name in ("add_param_group", "zero_grad", "step")}
    return type(optimizer.__name__, (optimizer,), plain | {"step": torch.no_grad()(plain["step"])})


SGD, ADAM, ADAMW = (
    eager_optimizer(torch.optim.SGD),
    eager_optimizer(torch.optim.Adam),
    eager_optimizer(torch.optim.AdamW),
)

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": partial(SGD, fused=True),
    "momentum": partial(SGD, momentum=0.9, fused=True),
    "adam": partial(ADAM, fused=True),
    "adamw": partial(ADAMW, fused=True),
}


def build_optimizer(
    optimizer: str,
    parameters: Iterable[nn.Parameter],
    *,
    lr: float,
    weight_decay: float,
    decay_all: bool = False,
    is_matrix: Callable[[nn.Parameter], bool] = lambda p: p.ndim > 1,
    scaling: Mapping[nn.Parameter, tuple[float, float, float]] | None = None,
) -> torch.optim.Optimizer:
    """The optimiser of that name; weight decay pulls matrices, and with `decay_all` biases, gains and gates too.

    `scaling`: each parameter's factors on learning rate, weight decay and Adam's epsilon, where they are not all 1.
    """
    trained = [p for p in parameters if p.requires_grad]
    decays: Callable[[nn.Parameter], bool] = (lambda _: True) if decay_all else is_matrix
    if scaling:
        how: dict[str, Any] = {"adam": optimizer in ADAMS, "lr": lr, "weight_decay": weight_decay}
        groups = _scaled(trained, **how, decays=decays, scaling=scaling)
        return OPTIMIZERS[optimizer](groups, weight_decay=0.0)
    groups = [
        {"params": [p for p in trained if decays(p)], "weight_decay": weight_decay},
        {"params": [p for p in trained if not decays(p)], "weight_decay": 0.0},
    ]
    return OPTIMIZERS[optimizer](
        [group for group in groups if group["params"]] if weight_decay else trained, lr=lr, weight_decay=0.0
    )


def parameter_scalings(
    cfg: RunConfig, net: nn.Module, model: nn.Module
) -> dict[nn.Parameter, tuple[float, float, float]]:
    """The factors of every parameter of a model, by its name in one net; empty where all are 1."""
    if has_uniform_rates(cfg):
        return {}
    own = dict(model.named_parameters())
    return {own[name]: parameter_scaling(cfg, name, p.numel()) for name, p in net.named_parameters()}


def _scaled(
    trained: Sequence[nn.Parameter],
    *,
    adam: bool,
    lr: float,
    weight_decay: float,
    decays: Callable[[nn.Parameter], bool],
    scaling: Mapping[nn.Parameter, tuple[float, float, float]],
) -> list[dict[str, Any]]:
    """The parameters in groups of the same factors."""
    groups: dict[tuple[float, ...], dict[str, Any]] = {}
    for p in trained:
        rate, decay, eps = scaling[p]
        group: dict[str, Any] = {"params": [], "rate": rate, "lr": lr * rate}
        group["weight_decay"] = decay * weight_decay if decays(p) else 0.0
        if adam:
            group["eps"] = 1e-8 * eps
        groups.setdefault((rate, eps, group["weight_decay"]), group)["params"].append(p)
    return list(groups.values())


class Rates:
    """The learning rates of K runs, table_TK (steps, K), and the steps of the optimiser that they share.

    A torch optimiser knows one rate. Its step is linear in the rate, so where the runs have different rates it steps
    at a rate of 1, and each run keeps its own share of that step.
    """

    def __init__(
        self, rates: Sequence[Sequence[float]], optimizer: torch.optim.Optimizer, device: torch.device
    ) -> None:
        self.table_TK = torch.tensor(rates, device=device).T
        self.optimizer = optimizer
        self._shared = list(rates[0]) if all(list(own) == list(rates[0]) for own in rates) else None
        self._parameters = [p for group in optimizer.param_groups for p in group["params"]]

    def step(self, k: int) -> None:
        """Takes update k."""
        for group in self.optimizer.param_groups:
            group["lr"] = (self._shared[k] if self._shared else 1.0) * group.get("rate", 1.0)
        if self._shared:
            self.optimizer.step()
            return
        before = [p.detach().clone() for p in self._parameters]
        self.optimizer.step()
        with torch.no_grad():
            for p, old in zip(self._parameters, before, strict=True):
                p.copy_(torch.lerp(old, p, self.table_TK[k].view(-1, *[1] * (p.ndim - 1))))
