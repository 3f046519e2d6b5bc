"""The interface of every task's data: batches, a held-out set, and a picture of what the net says."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from models.generator import generator
from models.spec import RunConfig

# Batch of the task -> logits (B, T, C), called in eval mode without gradients.
Predict = Callable[[Tensor], Tensor]
Picture = dict[str, Any]  # arrays, strings and lists only: it crosses to the web process

NO_LOSS = -100  # the target where no loss is taken
HELD_OUT_SEED = 0  # of the toy tasks, so that every run has the same held-out set


class TaskData(ABC):
    """The data of one configuration: x (B, T, F) float32 or (B, T) int64, and y (B, T) int64 with NO_LOSS."""

    def __init__(self, cfg: RunConfig, device: torch.device) -> None:
        self.cfg = cfg
        self.device = device

    def batch(self, k: int) -> tuple[Tensor, Tensor]:
        """Batch k (x, y) on the device, which depends on the seed and k only; nothing waits for the device."""
        return self.draw(self.cfg.batch, generator(self.cfg.seed, "batch", k))

    @abstractmethod
    def draw(self, count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
        """`count` training samples (x, y) on the device, which depend on the CPU generator only."""

    @property
    @abstractmethod
    def held_out(self) -> tuple[Tensor, Tensor]:
        """The samples (x, y) that no batch contains, on the device, the same for every seed."""

    @abstractmethod
    def picture(self, predict: Predict) -> Picture:
        """What the net says now, for the chart of this kind of task; depends on the weights only."""

    def first_picture(self, _predict: Predict) -> Picture:
        """The part of the picture that is shown before training: little, for every moved control asks for it."""
        return {}

    def class_name(self, target: int) -> str:
        """What a class is called."""
        return str(target)


def class_round_robin(classes: np.ndarray, most: int) -> np.ndarray:
    """The indices of the first sample of each class (N,), then of the second of each, and so on, at most `most`."""
    order = np.argsort(classes, kind="stable")
    first = np.searchsorted(classes[order], classes[order])
    return np.asarray(order[np.argsort(np.arange(len(order)) - first, kind="stable")][:most])


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """A small CPU tensor on the device; to CUDA through pinned memory, so that the copy does not wait for the queue."""
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
