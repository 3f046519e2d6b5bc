"""The norms that fill a slot. All but batch norm take their statistics over the features of one token."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


class DynamicTanh(nn.Module):
    """gain * tanh(alpha x) + bias: (..., D) -> (..., D), with one learned alpha (Zhu 2025, 2503.10622)."""

    def __init__(self, width: int, affine: bool = True, alpha: float = 0.5) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(alpha))
        self.weight = nn.Parameter(torch.ones(width), requires_grad=affine)
        self.bias = nn.Parameter(torch.zeros(width), requires_grad=affine)

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * torch.tanh(self.alpha * x) + self.bias


class DynamicErf(nn.Module):
    """gain * erf(alpha x + shift) + bias: (..., D) -> (..., D), with one learned alpha and shift (Derf, 2512.10938)."""

    def __init__(self, width: int, affine: bool = True, alpha: float = 0.5, shift: float = 0.0) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(alpha))
        self.shift = nn.Parameter(torch.tensor(shift))
        self.weight = nn.Parameter(torch.ones(width), requires_grad=affine)
        self.bias = nn.Parameter(torch.zeros(width), requires_grad=affine)

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * torch.erf(self.alpha * x + self.shift) + self.bias


class TokenBatchNorm(nn.BatchNorm1d):
    """Batch norm per feature over B and T: (B, T, D) -> (B, T, D); running statistics in eval mode.

    Ioffe & Szegedy 2015, 1502.03167.
    """

    def forward(self, x_BTD: Tensor) -> Tensor:
        return super().forward(x_BTD.flatten(0, -2)).view_as(x_BTD)


NORMS: dict[str, Callable[[int, float, bool], nn.Module]] = {
    "none": lambda width, eps, affine: nn.Identity(),
    "layer norm": lambda width, eps, affine: nn.LayerNorm(width, eps, elementwise_affine=affine),
    "rms norm": lambda width, eps, affine: nn.RMSNorm(width, eps, elementwise_affine=affine),
    "batch norm": lambda width, eps, affine: TokenBatchNorm(width, eps, affine=affine),
    "dynamic tanh": lambda width, eps, affine: DynamicTanh(width, affine),
    "dynamic erf": lambda width, eps, affine: DynamicErf(width, affine),
}


NORM_TYPES = tuple({type(build(2, 1e-5, True)) for name, build in NORMS.items() if name != "none"})


def build_norm(norm: str, width: int, eps: float = 1e-5, affine: bool = True) -> nn.Module:
    """The norm of that name for (..., width); "none" is the identity."""
    return NORMS[norm](width, eps, affine)
