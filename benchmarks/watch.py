"""The cost of `addnorm.watch` over a bare loop, beside histograms of the parameters as in W&B and TensorBoard."""

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from addnorm import watch as record
from benchmarks.report import Figure
from benchmarks.timing import per_step, ratio, taking_turns

BINS = 64  # of W&B's histograms


class Block(nn.Module):
    """x + W2 gelu(W1 N(x)), four times as wide inside."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def mlp(width: int, blocks: int) -> nn.Module:
    """A residual MLP."""
    return nn.Sequential(nn.Linear(width, width), *(Block(width) for _ in range(blocks)))


def encoder(width: int, sums: int) -> nn.Module:
    """torch's pre-norm transformer, two sums to a layer."""
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, sums // 2, enable_nested_tensor=False)


Shape = tuple[Callable[[], nn.Module], tuple[int, ...]]
SHAPES: dict[str, Shape] = {
    "MLP 12x256": (partial(mlp, 256, 12), (128, 256)),
    "transformer 6x256": (partial(encoder, 256, 12), (8, 64, 256)),
}


class Loop:
    """A model, a batch and Adam; `look` is called between `backward` and the update."""

    def __init__(self, shape: Shape, look: Callable[[nn.Module, int], object] | None = None) -> None:
        torch.manual_seed(0)
        build, size = shape
        self.model, self.x = build(), torch.randn(size)
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-4, fused=True)
        self.look, self.k = look, 0
        self.tell: Callable[[Tensor], None] = lambda loss: None

    def __call__(self, steps: int) -> None:
        for _ in range(steps):
            loss = self.model(self.x).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            if self.look is not None:
                self.look(self.model, self.k)
            self.optimizer.step()
            self.tell(loss)
            self.k += 1


def watch(shapes: Mapping[str, Shape] = SHAPES, rounds: int = 12, steps: int = 8) -> list[Figure]:
    """The step of each contender over the bare one, all steps recorded; the sites are found before the clock starts."""
    figures = []
    for name, shape in shapes.items():
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            ours = Loop(shape)
            recorder = stack.enter_context(record(ours.model, Path(folder) / "run.jsonl", optimizer=ours.optimizer))
            ours.tell = recorder.loss
            loops = {"bare": Loop(shape), "ours": ours, "W&B": Loop(shape, _histograms)}
            if find_spec("tensorboard") is not None:
                loops["TensorBoard"] = Loop(shape, _tensorboard(folder, stack))
            for loop in loops.values():
                loop(1)
            seconds = taking_turns({key: partial(loop, steps) for key, loop in loops.items()}, rounds)
        bare = f"bare: {per_step(seconds, 'bare', steps):.1f} ms a step, {len(recorder.sites)} sites"
        figures.append(Figure(f"watch / bare step, {name}", ratio(seconds, "ours", "bare"), at_most=1.05, note=bare))
        figures.append(Figure(f"histograms as W&B's / bare step, {name}", ratio(seconds, "W&B", "bare")))
        value = ratio(seconds, "TensorBoard", "bare") if "TensorBoard" in seconds else None
        note = "" if value is not None else "tensorboard is not installed"
        figures.append(Figure(f"TensorBoard add_histogram / bare step, {name}", value, note=note))
    return figures


def _histograms(model: nn.Module, _step: int) -> list[tuple[list[float], float, float]]:
    """Range and bins of every parameter and gradient, on the host: what `wandb.watch(log="all")` takes."""
    found = []
    for parameter in model.parameters():
        for tensor in (parameter.detach(), parameter.grad):
            if tensor is not None:
                low, high = tensor.min().item(), tensor.max().item()
                found.append((torch.histc(tensor, BINS, low, high).tolist(), low, high))
    return found


def _tensorboard(folder: str, stack: ExitStack) -> Callable[[nn.Module, int], None]:
    from torch.utils.tensorboard import SummaryWriter

    writer: Any = stack.enter_context(SummaryWriter(folder))

    def look(model: nn.Module, step: int) -> None:
        for name, parameter in model.named_parameters():
            writer.add_histogram(name, parameter, step)
            if parameter.grad is not None:
                writer.add_histogram(f"{name}.grad", parameter.grad, step)

    return look
