"""The one equation: y = N_add( skip(x) + scale * N_out( F( c_in * N_in(x) ) ) ). Empty slots are identities.

In train mode, dropout may follow the branch and the sum.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from models.generator import generator


class Tap(nn.Identity):
    """An identity that passes its tensor to `listener`: the stream after a sublayer, or a branch before its add.

    Costs a tenth of a forward hook.
    """

    def __init__(self) -> None:
        super().__init__()
        self.listener: Callable[[Tensor], None] | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.listener is not None:
            self.listener(x)
        return x


class ConstantScale(nn.Module):
    """weight * x with a constant weight."""

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x

    def extra_repr(self) -> str:
        return f"{self.weight:g}"


class NoSkip(nn.Module):
    """Returns 0 for any input, since 0 * x is NaN once x has overflowed."""

    def forward(self, x: Tensor) -> float:
        return 0.0


class Gate(nn.Module):
    """gate * x with one learned scalar (ReZero, 2003.04887) or one per channel (LayerScale, 2103.17239)."""

    def __init__(self, start: float, channels: int = 1) -> None:
        super().__init__()
        self.start = start
        self.gate = nn.Parameter(torch.full((channels,), start))

    def forward(self, x: Tensor) -> Tensor:
        return self.gate * x


class Dropout(nn.Module):
    """m * x / (1 - rate), m_i ~ Bernoulli(1 - rate) (Srivastava 2014).

    Acts only in train mode while `mask_key` is set: the seed and the words that seed the mask's generator.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.mask_key: tuple[Any, ...] = ()

    def forward(self, x: Tensor) -> Tensor:
        if not (self.training and self.mask_key):
            return x
        mask = torch.rand(x.shape, generator=generator(*self.mask_key)) >= self.rate
        return x * (mask / (1 - self.rate)).to(x)

    def extra_repr(self) -> str:
        return f"{self.rate:g}"


def build_dropout(rate: float) -> nn.Module:
    return Dropout(rate) if rate else nn.Identity()


def build_scale(weight: float) -> nn.Module:
    return nn.Identity() if weight == 1 else ConstantScale(weight)


def build_skip(weight: float) -> nn.Module:
    return NoSkip() if weight == 0 else build_scale(weight)


class Sublayer(nn.Module):
    """One sublayer of any single-stream arrangement, from its parts: (B, T, D) -> (B, T, D)."""

    def __init__(
        self,
        function: nn.Module,
        *,
        skip: nn.Module | None = None,
        scale: nn.Module | None = None,
        input_scale: nn.Module | None = None,
        norm_in: nn.Module | None = None,
        norm_out: nn.Module | None = None,
        norm_add: nn.Module | None = None,
        drop_branch: nn.Module | None = None,
        drop_stream: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.function = function
        self.skip = skip or nn.Identity()
        self.scale = scale or nn.Identity()
        self.input_scale = input_scale or nn.Identity()
        self.norm_in = norm_in or nn.Identity()
        self.norm_out = norm_out or nn.Identity()
        self.norm_add = norm_add or nn.Identity()
        self.drop_branch = drop_branch or nn.Identity()
        self.drop_stream = drop_stream or nn.Identity()
        self.branch_tap, self.stream_tap = Tap(), Tap()

    def branch(self, x: Tensor) -> Tensor:
        branch = self.scale(self.norm_out(self.function(self.input_scale(self.norm_in(x)))))
        return self.branch_tap(self.drop_branch(branch))

    def add(self, x: Tensor, branch: Tensor) -> Tensor:
        return self.stream_tap(self.drop_stream(self.norm_add(self.skip(x) + branch)))

    def forward(self, x: Tensor) -> Tensor:
        return self.add(x, self.branch(x))


class RecursiveSublayer(Sublayer):
    """Recursive skip: y_1 = N(x + f(x)), y = N'(x + y_1) (Liu 2020, k = 2)."""

    def __init__(self, function: nn.Module, *, norm_again: nn.Module, **parts: nn.Module) -> None:
        super().__init__(function, **parts)
        self.norm_again = norm_again

    def add(self, x: Tensor, branch: Tensor) -> Tensor:
        once = self.norm_add(self.skip(x) + branch)
        return self.stream_tap(self.drop_stream(self.norm_again(self.skip(x) + once)))


class HyperSublayer(Sublayer):
    """A sublayer between n streams, joined to them by its connection: (B, T, n, D) -> (B, T, n, D)."""

    def __init__(self, function: nn.Module, *, connection: nn.Module, **parts: nn.Module) -> None:
        super().__init__(function, **parts)
        self.connection = connection

    def forward(self, h: Tensor) -> Tensor:
        x, mixed, beta = self.connection(h)
        return mixed + beta * self.branch(x).unsqueeze(-2)


class IdentitySublayer(nn.Module):
    """An ablated sublayer: y = x without N_add, and a branch of 0."""

    def __init__(self) -> None:
        super().__init__()
        self.branch_tap, self.stream_tap = Tap(), Tap()

    def branch(self, x: Tensor) -> Tensor:
        return self.branch_tap(x.new_zeros(1))

    def add(self, x: Tensor, branch: Tensor) -> Tensor:
        return self.stream_tap(x)

    def forward(self, x: Tensor) -> Tensor:
        return self.add(x, self.branch(x))
