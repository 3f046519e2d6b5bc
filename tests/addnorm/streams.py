"""Nets without a single stream, written as public code writes them: several streams that are mixed, attention over depth."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WIDTH, STREAMS = 16, 4


def branch() -> nn.Module:
    return nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH))


class ReadAndMixed(nn.Module):
    """One product gives what the branch reads and the mixed streams, which lie in the batch (lucidrains)."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.branch = nn.RMSNorm(WIDTH), branch()
        self.alpha = nn.Parameter(torch.cat((torch.eye(STREAMS)[:, :1], torch.eye(STREAMS)), 1))
        self.to_alpha, self.beta = nn.Parameter(torch.zeros(WIDTH, STREAMS + 1)), nn.Parameter(torch.ones(STREAMS))

    def forward(self, h: Tensor) -> Tensor:
        h = h.unflatten(0, (-1, STREAMS)).movedim(1, -2)
        weights = 0.01 * torch.tanh(self.norm(h) @ self.to_alpha) + self.alpha
        mixed = torch.einsum("...st,...sd->...td", weights, h)
        x, h = mixed[..., 0, :], mixed[..., 1:, :]
        added = self.beta[:, None] * self.branch(x).unsqueeze(-2)
        return added.movedim(-2, 1).flatten(0, 1) + h.movedim(-2, 1).flatten(0, 1)


class WrittenOut(nn.Module):
    """Weights from all streams at once, Sinkhorn's by hand, products as sums (DeepSeek V4)."""

    def __init__(self) -> None:
        super().__init__()
        self.branch = branch()
        self.weights = nn.Parameter(0.01 * torch.randn(2 * STREAMS + STREAMS**2, STREAMS * WIDTH))
        self.base = nn.Parameter(torch.zeros(2 * STREAMS + STREAMS**2))

    def forward(self, h: Tensor) -> Tensor:
        flat = h.flatten(2)
        mixes = F.linear(flat, self.weights) * torch.rsqrt(flat.square().mean(-1, keepdim=True) + 1e-6) + self.base
        read, write, mixing = mixes.split((STREAMS, STREAMS, STREAMS**2), -1)
        mixing = mixing.unflatten(-1, (STREAMS, STREAMS)).softmax(-1)
        for _ in range(3):
            mixing = mixing / mixing.sum(-2, keepdim=True)
            mixing = mixing / mixing.sum(-1, keepdim=True)
        x = torch.sum(read.sigmoid().unsqueeze(-1) * h, dim=2)
        y = 2 * write.sigmoid().unsqueeze(-1) * self.branch(x).unsqueeze(-2)
        return y + torch.sum(mixing.unsqueeze(-1) * h.unsqueeze(-2), dim=2)


class Apart(nn.Module):
    """Static weights, a product for what is read and another for what is mixed."""

    def __init__(self) -> None:
        super().__init__()
        self.branch, self.mixing = branch(), nn.Parameter(torch.eye(STREAMS))
        self.read, self.write = nn.Parameter(torch.ones(STREAMS)), nn.Parameter(torch.ones(STREAMS))

    def forward(self, h: Tensor) -> Tensor:
        y = self.branch(torch.einsum("s,bnsd->bnd", self.read, h))
        return torch.einsum("ts,bnsd->bntd", self.mixing, h) + self.write[:, None] * y.unsqueeze(-2)


class Streams(nn.Module):
    """A net of such layers; its streams lie in the batch or beside the features, and are scaled outside of any module."""

    def __init__(self, layer: Callable[[], nn.Module], layers: int = 3, scale: float = 1) -> None:
        super().__init__()
        self.scale = scale
        self.stem, self.head = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 3)
        self.layers, self.norm = nn.ModuleList(layer() for _ in range(layers)), nn.LayerNorm(WIDTH)
        self.in_batch = layer is ReadAndMixed

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        h = x.repeat_interleave(STREAMS, 0) if self.in_batch else x.unsqueeze(2).repeat(1, 1, STREAMS, 1)
        for layer in self.layers:
            h = layer(h) if self.scale == 1 else self.scale * layer(h)
        x = h.unflatten(0, (-1, STREAMS)).sum(1) if self.in_batch else h.sum(2)
        return self.head(self.norm(x))


class OverDepth(nn.Module):
    """Attention residuals, as their paper's pseudocode has them, over outputs or over sums of `size` outputs."""

    def __init__(self, size: int, layers: int = 4) -> None:
        super().__init__()
        self.size, self.stem, self.head = size, nn.Linear(4, WIDTH), nn.Linear(WIDTH, 3)
        self.layers = nn.ModuleList(branch() for _ in range(layers))
        self.queries = nn.ParameterList(torch.zeros(WIDTH) for _ in range(layers + 1))

    def read(self, at: int, outputs: list[Tensor]) -> Tensor:
        v = torch.stack(outputs)
        logits = torch.einsum("d,nbtd->nbt", self.queries[at], F.rms_norm(v, (WIDTH,)))
        return torch.einsum("nbt,nbtd->btd", logits.softmax(0), v)

    def forward(self, x: Tensor) -> Tensor:
        outputs = [self.stem(x)]
        for at, layer in enumerate(self.layers):
            y = layer(self.read(at, outputs))
            outputs = [*outputs, y] if at % self.size == 0 else [*outputs[:-1], outputs[-1] + y]
        return self.head(self.read(len(self.layers), outputs))
