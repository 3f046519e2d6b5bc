"""The optimisers, fused: one kernel over all parameters keeps the steps of deep narrow nets fast."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import unwrap
from typing import Any

import torch
from torch import Tensor, nn

from models.spec import RunConfig
from models.spec.parametrization import ADAM_OPTIMIZERS, Factors, has_uniform_rates, parameter_scaling
from models.training.muon import Muon


def eager_optimizer(optimizer: type[torch.optim.Optimizer]) -> Callable[..., torch.optim.Optimizer]:
    """torch's optimiser without its wrappers for `torch.compile`, which nothing here uses.

    The wrappers import torch._dynamo and sympy, which takes as long as importing torch itself.
    """
    plain = {name: unwrap(getattr(optimizer, name)) for name in ("add_param_group", "zero_grad", "step")}
    return type(optimizer.__name__, (optimizer,), plain | {"step": torch.no_grad()(plain["step"])})


SGD = eager_optimizer(torch.optim.SGD)
ADAM = eager_optimizer(torch.optim.Adam)
ADAMW = eager_optimizer(torch.optim.AdamW)

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": partial(SGD, fused=True),
    "momentum": partial(SGD, momentum=0.9, fused=True),
    "adam": partial(ADAM, fused=True),
    "adamw": partial(ADAMW, fused=True),
    "muon": partial(ADAMW, fused=True),  # of all parameters but the blocks' matrices
}
Optimizer = torch.optim.Optimizer | Muon


def build_optimizer(
    optimizer: str,
    parameters: Iterable[nn.Parameter],
    *,
    lr: float,
    weight_decay: float,
    decay_all: bool = False,
    is_matrix: Callable[[nn.Parameter], bool] = lambda p: p.ndim > 1,
    scaling: Mapping[nn.Parameter, Factors] | None = None,
    hidden: Sequence[Tensor] = (),
) -> Optimizer:
    """The optimiser of that name over all trainable parameters, of which Muon takes `hidden`, the blocks' matrices.

    Weight decay applies to matrices, and with `decay_all` to biases, gains and gates too. `scaling` gives each
    parameter its factors on learning rate, weight decay and Adam's epsilon; without it all are 1.
    """
    taken = {id(p) for p in hidden} if optimizer == "muon" else set()
    trainable = [p for p in parameters if p.requires_grad and id(p) not in taken]
    is_decayed: Callable[[nn.Parameter], bool] = (lambda _: True) if decay_all else is_matrix
    build = partial(OPTIMIZERS[optimizer], weight_decay=0.0)
    if scaling:
        groups = _scaled_groups(
            trainable,
            adam=optimizer in ADAM_OPTIMIZERS,
            lr=lr,
            weight_decay=weight_decay,
            is_decayed=is_decayed,
            scaling=scaling,
        )
        built = build(groups)
    elif not weight_decay:
        built = build(trainable, lr=lr)
    else:
        groups = [
            {"params": [p for p in trainable if is_decayed(p)], "weight_decay": weight_decay},
            {"params": [p for p in trainable if not is_decayed(p)], "weight_decay": 0.0},
        ]
        built = build([group for group in groups if group["params"]], lr=lr)
    return Muon(hidden, built, lr=lr, weight_decay=weight_decay) if optimizer == "muon" else built


def parameter_scalings(cfg: RunConfig, net: nn.Module, model: nn.Module) -> dict[nn.Parameter, Factors]:
    """Factors of each parameter of `model`, a net or a stack of nets shaped as `net`; empty where all are 1."""
    if has_uniform_rates(cfg):
        return {}
    parameters = dict(model.named_parameters())
    return {parameters[name]: parameter_scaling(cfg, name, p.numel()) for name, p in net.named_parameters()}


def _scaled_groups(
    trainable: Sequence[nn.Parameter],
    *,
    adam: bool,
    lr: float,
    weight_decay: float,
    is_decayed: Callable[[nn.Parameter], bool],
    scaling: Mapping[nn.Parameter, Factors],
) -> list[dict[str, Any]]:
    """Parameter groups of equal factors, each with its factor on the learning rate as "rate"."""
    groups: dict[Factors, dict[str, Any]] = {}
    for p in trainable:
        rate, decay, eps = scaling[p]
        group: dict[str, Any] = {"params": [], "rate": rate, "lr": lr * rate}
        group["weight_decay"] = decay * weight_decay if is_decayed(p) else 0.0
        if adam:
            group["eps"] = 1e-8 * eps
        groups.setdefault((rate, eps, group["weight_decay"]), group)["params"].append(p)
    return list(groups.values())


class Rates:
    """The learning rates of K runs, `table_TK` (steps, K), applied through one optimiser.

    A torch optimiser has one rate. Its step is linear in that rate, so where the runs differ it steps at a rate of 1
    and each run takes its own fraction of the step.
    """

    def __init__(self, rates: Sequence[Sequence[float]], optimizer: Optimizer, device: torch.device) -> None:
        self.table_TK = torch.tensor(rates, device=device).T
        self.optimizer = optimizer
        first_rates = list(rates[0])
        are_equal = all(list(run_rates) == first_rates for run_rates in rates)
        self._shared_rates = first_rates if are_equal else None
        self._parameters = [p for group in optimizer.param_groups for p in group["params"]]

    def step(self, k: int) -> None:
        """Takes update k."""
        shared_rate = self._shared_rates[k] if self._shared_rates else 1.0
        for group in self.optimizer.param_groups:
            group["lr"] = shared_rate * group.get("rate", 1.0)
        if self._shared_rates:
            self.optimizer.step()
            return
        old_parameters = [p.detach().clone() for p in self._parameters]
        self.optimizer.step()
        with torch.no_grad():
            for p, old in zip(self._parameters, old_parameters, strict=True):
                p.copy_(torch.lerp(old, p, self.table_TK[k].view(-1, *[1] * (p.ndim - 1))))
