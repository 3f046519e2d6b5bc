"""The training loop of `Run` without its measurements."""

from collections.abc import Callable

import torch

from models.nets import build_model
from models.spec import RunConfig
from models.tasks import open_task
from models.training import cross_entropy
from models.training.optimizers import build_optimizer
from models.training.rows import block_matrices

CPU = torch.device("cpu")
Loop = Callable[[int], object]  # trains for a number of steps


class BareLoop:
    """A plain training loop with the model, the batches and the fused optimiser of a configuration."""

    def __init__(self, cfg: RunConfig) -> None:
        self.model, self.task = build_model(cfg), open_task(cfg, CPU)
        self.optimizer = build_optimizer(
            cfg.optimizer,
            self.model.parameters(),
            lr=cfg.lr,
            weight_decay=cfg.weight_decay,
            hidden=[p for block in block_matrices(self.model) for p in block],
        )
        self.steps_done = 0

    def __call__(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        """Trains on one batch."""
        x, y = self.task.batch(self.steps_done)
        loss = cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps_done += 1
