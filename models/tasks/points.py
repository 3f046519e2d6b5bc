"""Classes of points in the plane, one token each, drawn anew for every batch."""

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

HELD_OUT = 300  # points
GRID = 48  # grid points per axis of the picture
FIRST_GRID = 24  # of the one before training
EXTENT = 1.2  # the picture spans -EXTENT to EXTENT on both axes


@dataclass(frozen=True)
class Cloud:
    """The distribution of points given their labels: `draw(labels (B,), generator)`, (B, 2), plus Gaussian noise.

    `noise`: standard deviation of the noise per coordinate. `mean_square`: of a coordinate, noise included.
    """

    draw: Callable[[Tensor, torch.Generator], Tensor]
    mean_square: float
    noise: float


def _on_circle(radius: Tensor, angle: Tensor) -> Tensor:
    return radius[:, None] * torch.stack((angle.cos(), angle.sin()), dim=1)


def _spiral(label: Tensor, source: torch.Generator) -> Tensor:
    """Three arms a third of a turn apart, each one turn outwards from radius 0.1 to 1."""
    t = torch.rand(len(label), generator=source)
    return _on_circle(0.1 + 0.9 * t, 2 * math.pi * (t + label / 3))


def _circles(label: Tensor, source: torch.Generator) -> Tensor:
    """Two rings, of radius 0.5 and 1."""
    return _on_circle(0.5 + 0.5 * label, 2 * math.pi * torch.rand(len(label), generator=source))


def _xor(label: Tensor, source: torch.Generator) -> Tensor:
    """Coordinates of magnitude 0.1 to 1; label 1 where their signs agree."""
    magnitude = 0.1 + 0.9 * torch.rand(len(label), 2, generator=source)
    sign = 2.0 * torch.randint(2, (len(label),), generator=source) - 1
    return magnitude * torch.stack((sign, sign * (2 * label - 1)), dim=1)


def _linear(label: Tensor, source: torch.Generator) -> Tensor:
    """Bands at distance 0.1 to 0.8 from the falling diagonal, up to 0.8 along it; label 1 above."""
    along = 1.6 * torch.rand(len(label), generator=source) - 0.8
    across = (0.1 + 0.7 * torch.rand(len(label), generator=source)) * (2 * label - 1)
    return math.sqrt(0.5) * torch.stack((across - along, across + along), dim=1)


# E[r^2] for r ~ U(0.1, 1) is (1 + 0.1 + 0.01) / 3. On a circle each coordinate has half of it.
_UNIFORM_SQUARE = 1.11 / 3
SPIRAL = Cloud(_spiral, _UNIFORM_SQUARE / 2 + 0.03**2, 0.03)
CIRCLES = Cloud(_circles, (0.5**2 + 1) / 4 + 0.06**2, 0.06)
XOR = Cloud(_xor, _UNIFORM_SQUARE + 0.06**2, 0.06)
# Mean square across the line (0.64 + 0.08 + 0.01) / 3, along it 0.64 / 3; a coordinate has their mean.
LINEAR = Cloud(_linear, (0.73 + 0.64) / 6 + 0.03**2, 0.03)


class Points(TaskData):
    """Points scaled to unit mean square; the picture is in the unscaled coordinates of the cloud."""

    def __init__(self, cloud: Cloud, cfg: RunConfig, device: torch.device) -> None:
        super().__init__(cfg, device)
        self.cloud = cloud
        self.classes = TASKS[cfg.task].classes
        self.scale = cloud.mean_square**-0.5

    def draw(self, count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
        labels = torch.randint(self.classes, (count,), generator=source)
        return self._samples(labels, source)

    @cached_property
    def held_out(self) -> tuple[Tensor, Tensor]:
        labels = torch.arange(HELD_OUT) % self.classes
        return self._samples(labels, generator(HELD_OUT_SEED, "held out", self.cfg.task))

    def picture(self, predict: Predict) -> Picture:
        """The net's predictions on a grid over the plane, and the held-out points.

        `grid` (GRID, GRID) is the most likely class and `confidence` its probability, at x = axis[j] and y = axis[i]
        for entry (i, j). `points` (HELD_OUT, 2) have `labels`; `extent` is [low, high] of both axes.
        """
        return self._plane(predict, GRID)

    def first_picture(self, predict: Predict) -> Picture:
        """The same as `picture`, on a coarser grid."""
        return self._plane(predict, FIRST_GRID)

    def _plane(self, predict: Predict, side: int) -> Picture:
        """The picture with `side` grid points per axis."""
        axis = torch.linspace(-EXTENT, EXTENT, side)
        grid_y, grid_x = torch.meshgrid(axis, axis, indexing="ij")
        plane = torch.stack((grid_x, grid_y), dim=-1).reshape(-1, 1, 2) * self.scale
        confidence, guess = predict(plane.to(self.device))[:, 0].softmax(-1).max(-1)
        x, y = self.held_out
        return {
            "kind": "points",
            "grid": guess.reshape(side, side).cpu().numpy().astype(np.int8),
            "confidence": confidence.reshape(side, side).cpu().numpy(),
            "axis": axis.numpy(),
            "extent": [-EXTENT, EXTENT],
            "points": (x[:, 0] / self.scale).cpu().numpy(),
            "labels": y[:, 0].cpu().numpy().astype(np.int8),
        }

    def _samples(self, labels: Tensor, source: torch.Generator) -> tuple[Tensor, Tensor]:
        """x (B, 1, 2) and y (B, 1) of the labels (B,), on the device."""
        clean = self.cloud.draw(labels, source)
        points = clean + self.cloud.noise * torch.randn(clean.shape, generator=source)
        return to_device(points[:, None] * self.scale, self.device), to_device(labels[:, None], self.device)
