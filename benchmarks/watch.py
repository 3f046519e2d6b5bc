"""The cost of `addnorm.watch` and of other tools over a bare loop, and what each tool shows."""

import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import torch
from torch import Tensor, nn

from addnorm import Recorder, Recording, read
from addnorm import watch as record
from addnorm.faults import Faults
from addnorm.findings import Findings
from addnorm.writer import BATCH_SECONDS
from benchmarks.report import Figure
from benchmarks.timing import interleaved_seconds, milliseconds_per_step, ratio

LARGE = 1_000_000  # parameters of a model from which the goal for every row is LARGE_GOAL
SMALL_GOAL, LARGE_GOAL, TENTH_GOAL = 1.10, 1.05, 1.03  # most time of a step, in steps of the bare loop
MAX_ROW_BYTES, ROW_SITES = 700, 5  # most bytes that a row with its sentences takes in a file, at so many sites
BINS = 64  # of W&B's histograms


class Block(nn.Module):
    """x + W2 gelu(W1 N(x)), four times as wide inside."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def mlp(width: int, blocks: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width, width), *(Block(width) for _ in range(blocks)))


def encoder(width: int, sums: int) -> nn.Module:
    """torch's pre-norm transformer with `sums` residual additions, two a layer."""
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, sums // 2, enable_nested_tensor=False)


Shape = tuple[Callable[[], nn.Module], tuple[int, ...]]  # a builder of a model, and the shape of its input
SHAPES: dict[str, Shape] = {
    "MLP 4x96": (partial(mlp, 96, 4), (128, 96)),
    "transformer 6x64": (partial(encoder, 64, 12), (8, 64, 64)),
    "MLP 9x256": (partial(mlp, 256, 9), (128, 256)),
    "transformer 6x256": (partial(encoder, 256, 12), (8, 64, 256)),
}


class Loop:
    """A model, a batch and Adam. `on_gradients` is called between `backward` and the update, with the step."""

    def __init__(self, shape: Shape, on_gradients: Callable[[nn.Module, int], object] | None = None) -> None:
        torch.manual_seed(0)
        build, input_shape = shape
        self.model = build()
        self.x = torch.randn(input_shape)
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-4, fused=True)
        self.on_gradients = on_gradients
        self.steps_done = 0
        self.on_loss: Callable[[Tensor], None] = lambda loss: None

    def __call__(self, steps: int) -> None:
        for _ in range(steps):
            loss = self.model(self.x).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            if self.on_gradients is not None:
                self.on_gradients(self.model, self.steps_done)
            self.optimizer.step()
            self.on_loss(loss)
            self.steps_done += 1


# By contender: the measurements of a step that it shows.
SHOWS = {
    "ours": "activation, gradient, update by site; verdict",
    "ours, every 10th": "the same of every tenth step",
    ".item() hooks": "activation and gradient of named modules",
    "histograms as W&B's": "weights and their gradients by parameter",
    "TensorBoard": "weights and their gradients by parameter",
    "wandb.watch": "weights and their gradients by parameter",
}


# Ids of findings, and the class and method that find them.
CHECKS: tuple[tuple[str, type[Findings] | type[Faults], str], ...] = (
    ("AN-N1", Findings, "_check_finite"),
    ("AN-L1", Findings, "_check_loss"),
    ("AN-U1, AN-U2, AN-U3, AN-R1", Findings, "_check_updates"),
    ("AN-L2, AN-L3", Findings, "_check_form"),
    ("AN-S3", Findings, "_check_peaks"),
    ("AN-G4", Faults, "_check_discarded"),
    ("AN-G5", Faults, "_check_undivided"),
    ("AN-D1", Faults, "_check_input"),
    ("AN-B1", Faults, "_check_skips"),
    ("AN-W3", Faults, "_check_unmoved"),
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
    """Time of a step of each contender over that of the bare loop. The sites are found before the clock starts."""
    figures = []
    for name, shape in shapes.items():
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            loops = {"bare": Loop(shape), "histograms as W&B's": Loop(shape, _histograms)}
            recorders: dict[int, Recorder] = {}
            for contender, every in (("ours", 1), ("ours, every 10th", 10)):
                loop = Loop(shape)
                loops[contender] = loop
                path = Path(folder) / f"{every}.jsonl"
                recorder = stack.enter_context(record(loop.model, path, optimizer=loop.optimizer, every=every))
                recorders[every] = recorder
                loop.on_loss = recorder.loss
            loops[".item() hooks"] = Loop(shape)
            _item_hooks(loops[".item() hooks"].model)
            if find_spec("tensorboard") is not None:
                loops["TensorBoard"] = Loop(shape, _tensorboard(folder, stack))
            if find_spec("wandb") is not None:
                loop = Loop(shape)
                loop.on_gradients = _wandb(loop.model, folder, stack)
                loops["wandb.watch"] = loop
            for loop in loops.values():
                loop(1)
            turns = {key: partial(_turn, loop, steps) for key, loop in loops.items()}
            seconds = interleaved_seconds(turns, rounds)
            recorders[1].close()
            parts = [_row_bytes(name, recorders[1].path), *_check_costs(name, read(recorders[1].path))]
        size = sum(p.numel() for p in loops["bare"].model.parameters())
        goals = {"ours": SMALL_GOAL if size < LARGE else LARGE_GOAL, "ours, every 10th": TENTH_GOAL}
        bare = f"{size / 1e6:.1f} million parameters, {milliseconds_per_step(seconds, 'bare', steps):.1f} ms a step, "
        bare += f"{len(recorder.sites)} sites; "
        for contender, shows in SHOWS.items():
            figure_name = f"{contender} / bare step, {name}"
            if contender in seconds:
                note = (bare if contender == "ours" else "") + shows
                factor = ratio(seconds, contender, "bare")
                figures.append(Figure(figure_name, factor, at_most=goals.get(contender), note=note))
            else:
                library = contender.partition(".")[0].lower()
                figures.append(Figure(figure_name, None, note=f"{library} is not installed"))
        figures += parts
    return figures


def _turn(loop: Loop, steps: int) -> None:
    """Steps of a contender, and the time in which its threads write them: else the next one would pay for that."""
    loop(steps)
    sleep(2 * BATCH_SECONDS)


def _row_bytes(name: str, path: Path) -> Figure:
    """Bytes of a row and its sentences in a file."""
    _, *lines = path.read_bytes().splitlines(keepends=True)
    recording = read(path)
    size = sum(map(len, lines[:-1])) / max(1, len(recording))
    at_most = MAX_ROW_BYTES if len(recording.sites) == ROW_SITES else None
    return Figure(f"a row in the file, {name}", size, "bytes", at_most=at_most, note=f"{len(recording.sites)} sites")


def _check_costs(name: str, recording: Recording) -> list[Figure]:
    """The time that the writer's thread spends on each check, per row of a recording."""
    figures = []
    for ids, checker_class, method in CHECKS:
        checker = checker_class()
        rows = range(len(recording))
        started_at = perf_counter()
        for row in rows:
            result = getattr(checker, method)(recording, row)
            if isinstance(result, Iterator):
                deque(result, maxlen=0)
        microseconds = (perf_counter() - started_at) / max(1, len(rows)) * 1e6
        figures.append(Figure(f"{ids} alone, {name}", microseconds, "µs a row", note="in the writer's thread"))
    return figures


def _item_hooks(model: nn.Module) -> list[float]:
    """Hooks the blocks as a user would by hand, and reads norms of outputs and gradients with `.item()`.

    Returns the list that receives the norms.
    """
    norms: list[float] = []

    def read_norms(_module: nn.Module, _inputs: object, output: Tensor) -> None:
        norms.append(output.norm().item())
        output.register_hook(read_gradient)

    def read_gradient(grad: Tensor) -> None:
        norms.append(grad.norm().item())

    blocks = model.layers if isinstance(model, nn.TransformerEncoder) else model.children()
    for block in blocks:
        block.register_forward_hook(read_norms)
    return norms


def _wandb(model: nn.Module, folder: str, stack: ExitStack) -> Callable[[nn.Module, int], None]:
    """Starts a run of W&B that watches the model. Returns the function that logs a step."""
    import wandb

    run: Any = stack.enter_context(wandb.init(mode="offline", dir=folder, settings=wandb.Settings(silent=True)))
    run.watch(model, log="all", log_freq=1)
    return lambda _model, step: run.log({"step": step})


def _histograms(model: nn.Module, _step: int) -> list[tuple[list[float], float, float]]:
    """Bins and range of every parameter and gradient on the host, as `wandb.watch(log="all")` computes them."""
    histograms = []
    for parameter in model.parameters():
        for tensor in (parameter.detach(), parameter.grad):
            if tensor is not None:
                low, high = tensor.min().item(), tensor.max().item()
                histograms.append((torch.histc(tensor, BINS, low, high).tolist(), low, high))
    return histograms


def _tensorboard(folder: str, stack: ExitStack) -> Callable[[nn.Module, int], None]:
    """Opens a writer of TensorBoard. Returns the function that adds the histograms of a step."""
    from torch.utils.tensorboard import SummaryWriter

    writer: Any = stack.enter_context(SummaryWriter(folder))

    def add_histograms(model: nn.Module, step: int) -> None:
        for name, parameter in model.named_parameters():
            writer.add_histogram(name, parameter, step)
            if parameter.grad is not None:
                writer.add_histogram(f"{name}.grad", parameter.grad, step)

    return add_histograms
