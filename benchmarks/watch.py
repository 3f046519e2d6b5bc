"""The cost of `addnorm.watch` over a bare loop, beside what people use else, and what each shows."""

import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

from addnorm import Recorder, Recording, read
from addnorm import watch as record
from addnorm.faults import Faults
from addnorm.findings import Findings
from addnorm.histogram import histograms_of
from benchmarks.report import Figure
from benchmarks.timing import per_step, ratio, taking_turns

GOALS = {"ours": 1.10, "ours, every 10th": 1.05}  # of a bare step, at most
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


# What each contender shows of a step.
SHOWS = {
    "ours": "activation, gradient, update by site; verdict",
    "ours, every 10th": "the same of every tenth step",
    ".item() hooks": "activation and gradient of named modules",
    "histograms as W&B's": "weights and their gradients by parameter",
    "TensorBoard": "weights and their gradients by parameter",
    "wandb.watch": "weights and their gradients by parameter",
}


# By findings, what looks for them, and its method.
ALONE: tuple[tuple[str, type[Findings] | type[Faults], str], ...] = (
    ("AN-N1", Findings, "_check_finite"),
    ("AN-L1", Findings, "_check_loss"),
    ("AN-U1", Findings, "_check_updates"),
    ("AN-G1", Findings, "_check_gradient"),
    ("AN-S1", Findings, "_check_cosines"),
    ("AN-I1", Faults, "_check_copies"),
    ("AN-N2", Faults, "_check_batch"),
    ("AN-G3", Faults, "_check_leftover"),
    ("AN-G2, AN-W1", Faults, "_check_unreached"),
    ("AN-C1, AN-C2", Faults, "_check_clipping"),
    ("AN-W2", Faults, "_check_thawed"),
    ("AN-S2", Faults, "_check_calls"),
)


def watch(shapes: Mapping[str, Shape] = SHAPES, rounds: int = 12, steps: int = 10) -> list[Figure]:
    """The step of each contender over the bare one; the sites are found before the clock starts."""
    figures = []
    for name, shape in shapes.items():
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            loops = {"bare": Loop(shape), "histograms as W&B's": Loop(shape, _histograms)}
            recorders: dict[int, Recorder] = {}
            for contender, every in (("ours", 1), ("ours, every 10th", 10)):
                loops[contender] = loop = Loop(shape)
                path = Path(folder) / f"{every}.jsonl"
                recorder = stack.enter_context(record(loop.model, path, optimizer=loop.optimizer, every=every))
                recorders[every] = recorder
                loop.tell = recorder.loss
            loops[".item() hooks"] = Loop(shape)
            _item_hooks(loops[".item() hooks"].model)
            if find_spec("tensorboard") is not None:
                loops["TensorBoard"] = Loop(shape, _tensorboard(folder, stack))
            if find_spec("wandb") is not None:
                loops["wandb.watch"] = loop = Loop(shape)
                loop.look = _wandb(loop.model, folder, stack)
            for loop in loops.values():
                loop(1)
            seconds = taking_turns({key: partial(loop, steps) for key, loop in loops.items()}, rounds)
            recorders[1].close()
            alone = _findings_alone(name, read(recorders[1].path))
            alone.append(_histograms_alone(name, read(recorders[1].path)))
        bare = f"bare: {per_step(seconds, 'bare', steps):.1f} ms a step, {len(recorder.sites)} sites; "
        for contender, shows in SHOWS.items():
            what, goal = f"{contender} / bare step, {name}", GOALS.get(contender)
            if contender in seconds:
                note = (bare if contender == "ours" else "") + shows
                figures.append(Figure(what, ratio(seconds, contender, "bare"), at_most=goal, note=note))
            else:
                figures.append(Figure(what, None, note=f"{contender.partition('.')[0].lower()} is not installed"))
        figures += alone
    return figures


def _findings_alone(name: str, recording: Recording) -> list[Figure]:
    """What each finding costs of a row, looked for alone in the rows of a recording: time of the writer's thread."""
    figures = []
    for ids, kind, method in ALONE:
        judge, rows = kind(), range(len(recording))
        began = perf_counter()
        for at in rows:
            found = getattr(judge, method)(recording, at)
            if isinstance(found, Iterator):
                deque(found, maxlen=0)
        each = (perf_counter() - began) / max(1, len(rows)) * 1e6
        figures.append(Figure(f"{ids} alone, {name}", each, "µs a row", note="in the writer's thread"))
    return figures


def _histograms_alone(name: str, recording: Recording, rounds: int = 12) -> Figure:
    """What `detail="histograms"` adds to a row that has updates: to rows 0, 1, 2, 4, ..., 64 and then every 64th."""
    signals = [(at, torch.randn(site.shape)) for at, site in enumerate(recording.sites)]
    times = []
    for _ in range(rounds):
        began = perf_counter()
        histograms_of(signals)
        times.append(perf_counter() - began)
    what = f"histograms of a row, {name}"
    return Figure(what, sorted(times)[rounds // 2] * 1e3, "ms", note="in rows with updates, every 64th in the long run")


def _item_hooks(model: nn.Module) -> list[float]:
    """What one writes by hand: the norm of each block's output and of its gradient, on the host at once."""
    found: list[float] = []

    def look(_module: nn.Module, _inputs: object, output: Tensor) -> None:
        found.append(output.norm().item())
        output.register_hook(lambda grad: found.append(grad.norm().item()))

    for block in model.layers if isinstance(model, nn.TransformerEncoder) else model.children():
        block.register_forward_hook(look)
    return found


def _wandb(model: nn.Module, folder: str, stack: ExitStack) -> Callable[[nn.Module, int], None]:
    import wandb

    run: Any = stack.enter_context(wandb.init(mode="offline", dir=folder, settings=wandb.Settings(silent=True)))
    run.watch(model, log="all", log_freq=1)
    return lambda _model, step: run.log({"step": step})


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
