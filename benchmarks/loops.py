"""The training that `Run` does, in two other ways: bare, and with our probe on the stream."""

from collections.abc import Callable

import torch
from torch import Tensor

from addnorm.probe import accumulate_dtype, outputs
from addnorm.probe import norms_in as norms
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
        self.look(loss.detach())
        self.optimizer.step()
        self.k += 1

    def look(self, loss: Tensor) -> None:
        """Records something between `backward` and the update."""


class StreamSites(Bare):
    """With our probe: RMS of activation and gradient at every site of the stream, into a row."""

    def __init__(self, cfg: RunConfig) -> None:
        super().__init__(cfg)
        self.probe = outputs(self.model.stream.stream_taps, gradients=True)
        self.rows = torch.zeros(cfg.steps, 1 + 2 * len(self.model.stream.stream_taps))
        self.dtype = accumulate_dtype(CPU)

    def look(self, loss: Tensor) -> None:
        seen = self.probe.tensors()
        found = norms([*seen, *self.probe.grads()], self.dtype) / seen[0].numel() ** 0.5
        self.rows[self.k] = torch.cat((loss[None].to(self.dtype), found))
        self.probe.forget()
