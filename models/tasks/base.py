"""The interface of every task's data: training batches, a held-out set, and a picture of the net's predictions."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from models.generator import generator
from models.spec import RunConfig

Predict = Callable[[Tensor], Tensor]  # batch of the task -> logits (B, T, C), in eval mode without gradients
Picture = dict[str, Any]  # arrays, strings and lists only: it crosses to the web process

NO_LOSS = -100  # target of a token that has no loss; `ignore_index` of torch's cross-entropy
HELD_OUT_SEED = 0  # every run of a toy task has the same held-out set


class TaskData(ABC):
    """Samples of a task: inputs x (B, T, F) float32 or (B, T) int64, targets y (B, T) int64, some of them NO_LOSS."""

    def __init__(self, cfg: RunConfig, device: torch.device) -> None:
        self.cfg = cfg
        self.device = device

    def batch(self, k: int) -> tuple[Tensor, Tensor]:
        """Batch k as (x, y) on the device. Depends on the run's seed and k alone, and never waits for the device."""
        return self.draw(self.cfg.batch, generator(self.cfg.seed, "batch", k))

    @abstractmethod
    def draw(self, count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draws `count` training samples as (x, y) on the device, from a generator on the CPU."""

    @property
    @abstractmethod
    def held_out(self) -> tuple[Tensor, Tensor]:
        """Samples (x, y) on the device that no batch contains, the same for every seed."""

    @abstractmethod
    def picture(self, predict: Predict) -> Picture:
        """The net's predictions, for the chart of this kind of task. Depends on the weights alone."""

    @abstractmethod
    def first_picture(self, predict: Predict) -> Picture:
        """The part of the picture shown before training; kept cheap, because every change of a control computes it."""

    def class_name(self, target: int) -> str:
        return str(target)


def class_round_robin(classes: np.ndarray, limit: int) -> np.ndarray:
    """Indices of the first sample of each class, then of the second of each, and so on, at most `limit`.

    `classes` is (N,), the class of every sample.
    """
    order = np.argsort(classes, kind="stable")
    rank_in_class = np.arange(len(order)) - np.searchsorted(classes[order], classes[order])
    return np.asarray(order[np.argsort(rank_in_class, kind="stable")][:limit])


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """A small CPU tensor on the device. Pinned memory keeps a copy to CUDA from waiting for its queue."""
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
