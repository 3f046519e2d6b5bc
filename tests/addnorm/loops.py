"""A small residual net, a loop that trains it, and an independent look at the tensors of any place."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from addnorm import Recorder, watch
from addnorm.recording import Recording, read
from addnorm.sites import Site


class Block(nn.Module):
    """x + W2 relu(W1 N(x))."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.norm, self.up, self.act, self.down = (
            nn.LayerNorm(width),
            nn.Linear(width, 16),
            nn.ReLU(),
            nn.Linear(16, width),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(self.act(self.up(self.norm(x))))


class Restless(nn.Module):
    """Draws random numbers of all kinds, counts its calls in a buffer that it replaces, and keeps running means."""

    def __init__(self) -> None:
        super().__init__()
        self.start, self.norm, self.drop, self.block = (
            nn.Linear(4, 8),
            nn.BatchNorm1d(8),
            nn.Dropout(0.5),
            Block(),
        )
        self.calls: Tensor
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls = self.calls + random.random() + np.random.rand()
        return self.block(self.drop(self.norm(self.start(x))))


def net(blocks: int = 3, width: int = 8) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, width), *(Block(width) for _ in range(blocks)), nn.Linear(width, 3))


def batch(k: int, size: int = 8) -> tuple[Tensor, Tensor]:
    source = torch.Generator().manual_seed(k)
    return torch.randn(size, 4, generator=source), torch.randint(3, (size,), generator=source)


def train(model: nn.Module, optimizer: torch.optim.Optimizer, recorder: Recorder | None, steps: int = 3) -> list[float]:
    return [train_step(model, optimizer, recorder, k) for k in range(steps)]


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, recorder: Recorder | None, k: int) -> float:
    x, y = batch(k)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if recorder is not None:
        recorder.loss(loss)
    return loss.item()


def recorded(model: nn.Module, folder: Path, steps: int = 3, **asked: Any) -> Recording:
    """A recording of the plain loop."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with watch(model, folder / "run.jsonl", optimizer=optimizer, **asked) as recorder:
        train(model, optimizer, recorder, steps)
    return read(recorder.path)


def rms(tensor: Tensor) -> float:
    return tensor.detach().double().square().mean().sqrt().item()


@contextmanager
def looking(sites: tuple[Site, ...]) -> Iterator[Callable[[], tuple[list[float], list[float]]]]:
    """An independent look: plain hooks and `retain_grad`, which keep copies. Gives activation and gradient RMS by site."""
    kept: dict[int, tuple[Tensor, Tensor]] = {}
    calls: dict[int, int] = {}
    handles = []

    def keep(at: int, call: int, tensor: Tensor) -> None:
        calls[at] = calls.get(at, 0) + 1
        if calls[at] == call + 1:
            if tensor.requires_grad:
                tensor.retain_grad()
                tensor.grad = None  # the input of the model, which adds up
            kept[at] = (tensor, tensor.detach().clone())

    for at, site in enumerate(sites):
        place = site.place
        if place.side == "output":

            def after(_module: Any, _inputs: Any, output: Any, at: int = at, place: Any = place) -> None:
                keep(at, place.call, output if place.key is None else output[place.key])

            handles.append(place.module.register_forward_hook(after))
        else:

            def before(_module: Any, args: Any, kwargs: Any, at: int = at, place: Any = place) -> None:
                keep(at, place.call, kwargs[place.key] if isinstance(place.key, str) else args[place.key])

            handles.append(place.module.register_forward_pre_hook(before, with_kwargs=True))
    try:
        yield lambda: (
            [rms(kept[at][1]) for at in range(len(sites))],
            [rms(grad) if (grad := kept[at][0].grad) is not None else float("nan") for at in range(len(sites))],
        )
    finally:
        for handle in handles:
            handle.remove()
