"""What every task's data can do: batches, a held-out set, a picture of what the net makes of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from models.generator import generator
from models.spec import RunConfig

# Batch of the task -> logits (B, T, C), called in eval mode without gradients.
Predict = Callable[[Tensor], Tensor]
Picture = dict[str, Any]  # arrays, strings and lists only: it crosses to the web process

NO_LOSS = -100
HELD_OUT_SEED = 0  # of the toy tasks: the same held-out set for every run


class TaskData(ABC):
    """The data of one configuration. x is (B, T, F) float32 or
    (B, T) int64; y is (B, T) int64, -100 where no loss is taken.
    """

    def __init__(self, cfg: RunConfig, device: torch.device) -> None:
        self.cfg = cfg
        self.device = device

    def batch(self, k: int) -> tuple[Tensor, Tensor]:
        """Batch k (x, y) on the device: decided by the seed and
        k alone, equal on every device, and nothing waits for it.
        """
        return self.draw(self.cfg.batch, generator(self.cfg.seed, "batch", k))

    @abstractmethod
    def draw(self, count: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
        """`count` training samples (x, y) on the device, from nothing but the CPU generator."""

    @property
    @abstractmethod
    def held_out(self) -> tuple[Tensor, Tensor]:
        """The samples (x, y) that no batch contains, on the device, the same for every seed."""

    @abstractmethod
    def picture(self, predict: Predict) -> Picture:
        """What the net says now, for the chart of this kind of task; decided by the weights alone."""

    def first_picture(self, _predict: Predict) -> Picture:
        """What of the picture is shown before anybody has asked for
        training: little, because every moved control asks for it.
        """
        return {}


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """A small CPU tensor on the device. To CUDA it goes through
    pinned memory, else the copy would wait for the queue.
    """
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
