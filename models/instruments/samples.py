"""Tasks of a few training samples, drawn for each batch or all in each."""

import torch
from torch import Tensor

from models.generator import generator
from models.tasks import TaskData


class FewSamples:
    """A task with `count` training samples, from which every batch is drawn with replacement."""

    def __init__(self, task: TaskData, count: int) -> None:
        self.task = task
        self.x, self.y = task.draw(count, generator(0, "few samples"))

    def batch(self, k: int) -> tuple[Tensor, Tensor]:
        """Batch k, which depends only on k and the seed."""
        cfg = self.task.cfg
        source = generator(cfg.seed, f"few samples {k}")
        indices = torch.randint(len(self.x), (cfg.batch,), generator=source).to(self.x.device)
        return self.x[indices], self.y[indices]

    @property
    def held_out(self) -> tuple[Tensor, Tensor]:
        return self.task.held_out


class FullBatch(FewSamples):
    """FewSamples in which every batch consists of all samples."""

    def batch(self, k: int) -> tuple[Tensor, Tensor]:
        return self.x, self.y
