"""The training that `Run` does, in four other ways: bare, with our probe on the stream, with hooks, with histograms."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

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


class Hooks(Bare):
    """What our rows hold, taken the usual way: forward and full backward hooks, one `.item()` per number."""

    def __init__(self, cfg: RunConfig) -> None:
        super().__init__(cfg)
        self.row: list[float] = []
        for tap in self.model.stream.stream_taps:
            tap.register_forward_hook(self._keep_output)
            tap.register_full_backward_hook(self._keep_gradient)
        for tap in self.model.stream.branch_taps:
            tap.register_forward_hook(self._keep_output)

    def step(self) -> None:
        self.row = []
        super().step()

    def look(self, loss: Tensor) -> None:
        self.row.append(loss.item())
        for block in self.model.stream.blocks.values():
            weights = [p.grad for p in block.parameters() if p.ndim > 1 and p.grad is not None]
            self.row.append(math.sqrt(_sum_of_squares(weights) / sum(grad.numel() for grad in weights)))
        self.row.append(math.sqrt(_sum_of_squares([p.grad for p in self.model.parameters() if p.grad is not None])))

    def _keep_output(self, _module: nn.Module, _inputs: Any, output: Tensor) -> None:
        self.row.append(output.detach().square().mean().sqrt().item())

    def _keep_gradient(self, _module: nn.Module, _inputs: Any, outputs: Any) -> None:
        self.row.append(outputs[0].square().mean().sqrt().item())


def _sum_of_squares(tensors: list[Tensor]) -> float:
    return sum(tensor.square().sum().item() for tensor in tensors)


class Histograms(Bare):
    """TensorBoard's `add_histogram` of the same tensors every step. Raises ImportError where it is not installed."""

    def __init__(self, cfg: RunConfig, folder: str) -> None:
        from torch.utils.tensorboard import SummaryWriter

        super().__init__(cfg)
        self.writer: Any = SummaryWriter(folder)
        self.stream = outputs(self.model.stream.stream_taps, gradients=True)
        self.branch = outputs(self.model.stream.branch_taps, gradients=False)

    def look(self, loss: Tensor) -> None:
        self.writer.add_scalar("loss", loss, self.k)
        for name, tensor in self._tensors():
            self.writer.add_histogram(name, tensor, self.k)

    def _tensors(self) -> Iterator[tuple[str, Tensor]]:
        for kind, tensors in (
            ("act", self.stream.tensors()),
            ("grad", self.stream.grads()),
            ("branch", self.branch.tensors()),
        ):
            yield from ((f"{kind}/{at}", tensor) for at, tensor in enumerate(tensors))
        for name, parameter in self.model.stream.named_parameters():
            if parameter.ndim > 1 and parameter.grad is not None:
                yield f"weight/{name}", parameter.grad
