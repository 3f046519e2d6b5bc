"""The training that `Run` does, bare."""

from collections.abc import Callable

import torch

from models.nets import build_model
from models.spec import RunConfig
from models.tasks import open_task
from models.training import cross_entropy
from models.training.optimizers import build_optimizer

CPU = torch.device("cpu")
Loop = Callable[[int], object]  # trains for so many steps


class Bare:
    """A training loop and nothing else: the model, the batches and the fused optimiser of a configuration."""

    def __init__(self, cfg: RunConfig) -> None:
        self.model, self.task = build_model(cfg), open_task(cfg, CPU)
        self.optimizer = build_optimizer(
            cfg.optimizer, self.model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay
        )
        self.k = 0

    def __call__(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        """One batch, one update."""
        x, y = self.task.batch(self.k)
        loss = cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.k += 1
