"""Points of the plane, one token each, drawn afresh for every batch."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from models.generator import generator
from models.spec import TASKS, RunConfig
from models.tasks.base import HELD_OUT_SEED, Picture, Predict, TaskData, to_device

HELD_OUT = 300
GRID = 48  # points along a side of the picture
EXTENT = 1.2  # the picture spans -1.2 to 1.2 in both directions


@dataclass(frozen=True)
class Cloud:
    """How labelled points are drawn: `draw(label (B,), generator)` returns (B, 2), to which `noise` is added.

    `noise` is the standard deviation per coordinate, `mean_square` the mean square of a coordinate with its noise.
    """

    draw: Callable[[Tensor, torch.Generator], Tensor]
    mean_square: float
    noise: float


def _on_circle(radius: Tensor, angle: Tensor) -> Tensor:
    return radius[:, None] * torch.stack((angle.cos(), angle.sin()), dim=1)


def _spiral(label: Tensor, source: torch.Generator) -> Tensor:
    """One turn outwards from radius 0.1 to 1, the arms a third of a turn apart."""
    along = torch.rand(len(label), generator=source)
    return _on_circle(0.1 + 0.9 * along, 2 * math.pi * (along + label / 3))


def _circles(label: Tensor, source: torch.Generator) -> Tensor:
    """Rings of radius 0.5 and 1."""
    return _on_circle(0.5 + 0.5 * label, 2 * math.pi * torch.rand(len(label), generator=source))


def _xor(label: Tensor, source: torch.Generator) -> Tensor:
    """Each coordinate from 0.1 to 1 on either side of zero; label 1 where the signs agree."""
    size = 0.1 + 0.9 * torch.rand(len(label), 2, generator=source)
    sign = 2.0 * torch.randint(2, (len(label),), generator=source) - 1
    return size * torch.stack((sign, sign * (2 * label - 1)), dim=1)


def _linear(label: Tensor, source: torch.Generator) -> Tensor:
    """From 0.1 to 0.8 on either side of the falling diagonal, up to 0.8 along it; label 1 above."""
    along = 1.6 * torch.rand(len(label), generator=source) - 0.8
    across = (0.1 + 0.7 * torch.rand(len(label), generator=source)) * (2 * label - 1)
    return math.sqrt(0.5) * torch.stack((across - along, across + along), dim=1)


# Mean of r^2 for r even on [0.1, 1]: (1 + 0.1 + 0.01) / 3. On a circle a coordinate has half of it.
_EVEN = 1.11 / 3
SPIRAL = Cloud(_spiral, _EVEN / 2 + 0.03**2, 0.03)
CIRCLES = Cloud(_circles, (0.5**2 + 1) / 4 + 0.06**2, 0.06)
XOR = Cloud(_xor, _EVEN + 0.06**2, 0.06)
# Across the line (0.64 + 0.08 + 0.01) / 3, along it 0.64 / 3; a coordinate has the mean of both.
LINEAR = Cloud(_linear, (0.73 + 0.64) / 6 + 0.03**2, 0.03)


class Points(TaskData):
    """Points scaled to unit mean square; the picture keeps the units in which they are drawn."""

    def __init__(self, cloud: Cloud, cfg: RunConfig, device: torch.device) -> None:
        super().__init__(cfg, device)
        self.cloud = cloud
        self.classes = TASKS[cfg.task].classes
        self.scale = cloud.mean_square**-0.5

    def draw(self, count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
        label = torch.randint(self.classes, (count,), generator=source)
        return self._placed(label, source)

    @cached_property
    def held_out(self) -> tuple[Tensor, Tensor]:
        label = torch.arange(HELD_OUT) % self.classes
        return self._placed(label, generator(HELD_OUT_SEED, "held out", self.cfg.task))

    def picture(self, predict: Predict) -> Picture:
        """What the net says across a square of the plane, and the held-out points on it.

        `grid` (GRID, GRID), the class chosen, and `confidence`, its probability: row i at height `axis[i]`, column j at
        `axis[j]`; `points` (HELD_OUT, 2) with their `labels`; `extent` [low, high], the same in both directions.
        """
        axis = torch.linspace(-EXTENT, EXTENT, GRID)
        height, across = torch.meshgrid(axis, axis, indexing="ij")
        plane = torch.stack((across, height), dim=-1).reshape(-1, 1, 2) * self.scale
        confidence, chosen = predict(plane.to(self.device))[:, 0].softmax(-1).max(-1)
        x, y = self.held_out
        return {
            "kind": "points",
            "grid": chosen.reshape(GRID, GRID).cpu().numpy().astype(np.int8),
            "confidence": confidence.reshape(GRID, GRID).cpu().numpy(),
            "axis": axis.numpy(),
            "extent": [-EXTENT, EXTENT],
            "points": (x[:, 0] / self.scale).cpu().numpy(),
            "labels": y[:, 0].cpu().numpy().astype(np.int8),
        }

    def _placed(self, label: Tensor, source: torch.Generator) -> tuple[Tensor, Tensor]:
        """x (B, 1, 2) and y (B, 1) for given labels."""
        clean = self.cloud.draw(label, source)
        points = clean + self.cloud.noise * torch.randn(clean.shape, generator=source)
        return to_device(points[:, None] * self.scale, self.device), to_device(label[:, None], self.device)
