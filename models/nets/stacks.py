"""Stacks of blocks: one stream, bare or with learned scalars, ResiDual's two, hyper-connected ones, sums over depth."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from models.nets.connections import DepthAttention
from models.nets.sublayer import IdentitySublayer, Tap
from models.spec.vocabulary import MANY_STREAMS

Blocks = Mapping[str, Mapping[str, nn.Module]]


class Stack(nn.Module):
    """One stream through all blocks: (B, T, D) -> (B, T, D).

    Blocks are named b01, b02, ... and hold their sublayers by kind.
    """

    def __init__(self, blocks: Blocks, norm: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.start_tap = Tap()
        self.blocks = nn.ModuleDict({name: nn.ModuleDict(dict(block)) for name, block in blocks.items()})

    @property
    def sublayers(self) -> Sequence[nn.Module]:
        """The sublayers of all blocks in forward order."""
        return [sublayer for block in self.blocks.values() for sublayer in block.values()]  # type: ignore[operator]

    @property
    def stream_taps(self) -> list[Tap]:
        """Taps on the stream in forward order: x0, then the output of each sublayer."""
        return [self.start_tap, *(sublayer.stream_tap for sublayer in self.sublayers)]  # type: ignore[list-item]

    @property
    def branch_taps(self) -> list[Tap]:
        """Taps on the branches before their adds, in forward order."""
        return [sublayer.branch_tap for sublayer in self.sublayers]  # type: ignore[misc]

    def forward(self, x: Tensor) -> Tensor:
        x = self.start_tap(x)
        for sublayer in self.sublayers:
            x = sublayer(x)
        return x


class LearnedScalars(nn.Module):
    """resid_lambda x + x0_lambda x0, (..., D), with two learned numbers that start at 1 and 0 (nanochat's gpt.py)."""

    def __init__(self) -> None:
        super().__init__()
        self.resid_lambda = nn.Parameter(torch.ones(1))
        self.x0_lambda = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor, x0: Tensor) -> Tensor:
        return self.resid_lambda * x + self.x0_lambda * x0


class ScalarStack(Stack):
    """x <- resid_lambda x + x0_lambda x0 before each block, with the start x0 of the stream."""

    def __init__(self, blocks: Blocks, norm: Callable[[], nn.Module]) -> None:
        super().__init__(blocks, norm)
        self.scalars = nn.ModuleList(LearnedScalars() for _ in blocks)

    def forward(self, x: Tensor) -> Tensor:
        x = x0 = self.start_tap(x)
        for scalars, block in zip(self.scalars, self.blocks.values(), strict=True):
            x = scalars(x, x0)
            for sublayer in block.values():  # type: ignore[operator]
                x = sublayer(x)
        return x


class ResiDualStack(Stack):
    """y <- y + f(x), x <- N(x + f(x)), y_0 = x_0; output x_M + N(y_M) (Xie 2023, 2304.14802)."""

    def __init__(self, blocks: Blocks, norm: Callable[[], nn.Module]) -> None:
        super().__init__(blocks, norm)
        self.norm_collected = norm()

    def forward(self, x: Tensor) -> Tensor:
        x = y = self.start_tap(x)
        for sublayer in self.sublayers:
            branch = sublayer.branch(x)  # type: ignore[operator]
            x, y = sublayer.add(x, branch), y + branch  # type: ignore[operator]
        return x + self.norm_collected(y)


class DLCLStack(Stack):
    """x_{l+1} = sum_k W[l+1, k] N_k(y_k) over the embedding y_0 and all block outputs y_1 ... y_l.

    The head reads x_{L+1}. W starts as the mean (Wang 2019, 1906.01787, pre-norm form).
    """

    def __init__(self, blocks: Blocks, norm: Callable[[], nn.Module]) -> None:
        super().__init__(blocks, norm)
        self.norms = nn.ModuleList(norm() for _ in range(len(blocks) + 1))
        self.weights = nn.ParameterList(torch.full((count,), 1 / count) for count in range(1, len(blocks) + 2))

    def forward(self, x: Tensor) -> Tensor:
        normed = [self.norms[0](self.start_tap(x))]
        for index, block in enumerate(self.blocks.values()):
            x = self._weighted_sum(index, normed)
            for sublayer in block.values():  # type: ignore[operator]
                x = sublayer(x)
            normed.append(self.norms[index + 1](x))
        return self._weighted_sum(len(self.blocks), normed)

    def _weighted_sum(self, index: int, normed: list[Tensor]) -> Tensor:
        # "..." is the seed axis of a stacked net, and empty for a single one.
        return torch.einsum("...k,k...td->...td", self.weights[index], torch.stack(normed))


class HyperStack(Stack):
    """n streams, all copies of x_0 at first, which every sublayer's connection mixes; the output is their sum.

    A site's tap hears the mean of the streams, and its gradient is the sum of theirs: while all are copies, those of
    the one stream that they copy.
    """

    def __init__(self, blocks: Blocks, norm: Callable[[], nn.Module], streams: int) -> None:
        super().__init__(blocks, norm)
        self.streams = streams
        self.mean_taps = nn.ModuleList(Tap() for _ in self.sublayers)

    @property
    def stream_taps(self) -> list[Tap]:
        return [self.start_tap, *self.mean_taps]

    def forward(self, x: Tensor) -> Tensor:
        h = self.start_tap(x).unsqueeze(-2).expand(*x.shape[:-1], self.streams, x.shape[-1])
        for sublayer, tap in zip(self.sublayers, self.mean_taps, strict=True):
            h = sublayer(h)
            mean = h.mean(-2)
            h = h + (tap(mean.view_as(mean)) - mean).unsqueeze(-2)  # adds 0
        return h.sum(-2)


class AttentionResidualStack(Stack):
    """Every sublayer, and the head, reads by attention over x_0 and all earlier branches (Chen 2026, 2603.15031).

    Branches of `size` successive sublayers are added up and read as one (equations 5 and 6). The site after a sublayer
    is what the next one reads, or the head. A sublayer taken out passes on what it reads.
    """

    def __init__(self, blocks: Blocks, norm: Callable[[], nn.Module], width: int, eps: float, size: int) -> None:
        super().__init__(blocks, norm)
        self.size = size
        are_active = [not isinstance(sublayer, IdentitySublayer) for sublayer in self.sublayers]
        self.reads = nn.ModuleList(DepthAttention(width, eps) if active else nn.Identity() for active in are_active)

    def forward(self, x: Tensor) -> Tensor:
        x = self.start_tap(x)
        outputs, group = [x], -1
        for layer, (sublayer, read) in enumerate(zip(self.sublayers, self.reads, strict=True)):
            branch = sublayer.branch(x)  # type: ignore[operator]
            if not isinstance(sublayer, IdentitySublayer):
                if layer // self.size == group:
                    outputs[-1] = outputs[-1] + branch
                else:
                    outputs.append(branch)
                    group = layer // self.size
                x = read(torch.stack(outputs))
            x = sublayer.stream_tap(x)  # type: ignore[operator]
        return x


STACKS: dict[str, Callable[..., Stack]] = {
    "single": Stack,
    "learned scalars": ScalarStack,
    "residual": ResiDualStack,
    "dlcl": DLCLStack,
    **dict.fromkeys(MANY_STREAMS, HyperStack),
    "attention residuals": AttentionResidualStack,
}
