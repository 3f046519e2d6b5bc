"""Gradient check: autograd against central differences of the loss, in float64 on the same batch."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from models.answers import GradientCheck
from models.generator import generator
from models.nets import Net
from models.nets.hooks import Hook, hooked
from models.spec import plan
from models.spec.knob import check_whole
from models.training import Snapshot, Work, cross_entropy

# Relative to what is moved, from large, where the curvature shows, to small, where the rounding of the loss shows.
DIFFERENCE_STEPS = tuple(10.0**-power for power in range(2, 8))
WEIGHTS, STREAM = "weights", "stream"


def check(snapshot: Snapshot, *, block: int) -> Work[GradientCheck]:
    """The slopes of the loss by a block's weight matrices and by the stream at its last site.

    They are taken along the gradient and along a fixed random direction. The chosen step is the one whose difference is
    closest to that of the next larger step. ValueError for a block that the net does not have.
    """
    check_whole("block", block, 1, snapshot.cfg.depth)
    bench = _Bench(*snapshot.exact(), last_site(snapshot, block))
    matrices = [p for p in list(bench.model.stream.blocks.values())[block - 1].parameters() if p.ndim > 1]
    moved: dict[str, tuple[list[Tensor], list[Tensor]]] = {}
    slopes = bench.gradients(matrices)
    if matrices:
        moved[WEIGHTS] = [p.detach() for p in matrices], slopes[:-1]
    moved[STREAM] = [bench.shift], slopes[-1:]
    what, along, rms = [], [], {}
    rows: list[tuple[float, list[float], list[float], list[int], int]] = []
    for name, (tensors, gradient) in moved.items():
        rms[name] = _length(gradient) / sum(part.numel() for part in gradient) ** 0.5
        scale = _length(tensors) if name == WEIGHTS else bench.size
        for title, direction in _directions(gradient, snapshot.cfg.seed).items():
            what.append(name)
            along.append(title)
            slope = sum((a * b).sum().item() for a, b in zip(gradient, direction, strict=True))
            differences, kinks = [], []
            for relative in DIFFERENCE_STEPS:
                difference, crossed = bench.difference(tensors, direction, relative * scale)
                differences.append(difference)
                kinks.append(crossed)
                yield (len(rows) + len(differences) / len(DIFFERENCE_STEPS)) / (2 * len(moved))
            rows.append(
                (
                    slope,
                    differences,
                    [relative * scale for relative in DIFFERENCE_STEPS],
                    kinks,
                    _steadiest(differences),
                )
            )
    columns = (np.array(values) for values in zip(*rows, strict=True))
    return GradientCheck(tuple(what), tuple(along), rms, bench.loss().item(), *columns)


def last_site(snapshot: Snapshot, block: int) -> int:
    """The index of a block's last site."""
    return max(at for at, sublayer in enumerate(plan(snapshot.cfg).sublayers, 1) if sublayer.block == block)


class _Bench:
    """The loss of one batch as a function of the weights, and of a `shift` that is added to the stream at one site."""

    def __init__(self, model: Net, x: Tensor, y: Tensor, site: int) -> None:
        self.model, self.x, self.y = model, x, y
        self.tap = model.stream.stream_taps[site]
        self.relus = [module for module in model.modules() if isinstance(module, nn.ReLU)]
        stream: list[Tensor] = []
        with torch.no_grad(), hooked([(self.tap, lambda _m, _i, out: stream.append(out))]):
            self.model(x)
        self.shift, self.size = torch.zeros_like(stream[0]), stream[0].norm().item()

    def loss(self) -> Tensor:
        """The loss at the current weights and shift."""
        with hooked([(self.tap, lambda _m, _i, out: out + self.shift)]):
            return cross_entropy(self.model(self.x), self.y)

    def gradients(self, matrices: Sequence[Tensor]) -> list[Tensor]:
        """The gradients by autograd: of each matrix, then of the stream at the site."""
        self.shift.requires_grad_()
        tensors = [*matrices, self.shift]
        grads = torch.autograd.grad(self.loss(), tensors, materialize_grads=True)
        self.shift.requires_grad_(False)
        return list(grads)

    def difference(self, tensors: list[Tensor], direction: list[Tensor], step: float) -> tuple[float, int]:
        """(L(+step) - L(-step)) / (2 step), and how many ReLU inputs change sign between the two."""
        before = [tensor.clone() for tensor in tensors]
        losses: list[float] = []
        positive: list[list[Tensor]] = []
        for sign in (1, -1):
            inputs_positive: list[Tensor] = []
            for tensor, start, along in zip(tensors, before, direction, strict=True):
                tensor.copy_(start + sign * step * along)
            with torch.no_grad(), hooked([(relu, _recording_signs(inputs_positive)) for relu in self.relus]):
                losses.append(self.loss().item())
            positive.append(inputs_positive)
        for tensor, start in zip(tensors, before, strict=True):
            tensor.copy_(start)
        crossed = sum(int((a != b).sum()) for a, b in zip(*positive, strict=True))
        return (losses[0] - losses[1]) / (2 * step) if step else float("nan"), crossed


def _recording_signs(inputs_positive: list[Tensor]) -> Hook:
    return lambda _module, inputs, _output: inputs_positive.append(inputs[0] > 0)


def _directions(gradient: list[Tensor], seed: int) -> dict[str, list[Tensor]]:
    """Directions of length 1: along the gradient, unless it is 0, and a random one that the seed decides."""
    source = generator(seed, "check")
    noise = [torch.randn(part.shape, generator=source, dtype=part.dtype) for part in gradient]
    length = _length(gradient)
    directions = {"the gradient": [part / length for part in gradient]} if length > 0 or np.isnan(length) else {}
    return directions | {"a random direction": [part / _length(noise) for part in noise]}


def _length(parts: list[Tensor]) -> float:
    return float(torch.stack([part.square().sum() for part in parts]).sum().sqrt())


def _steadiest(differences: list[float]) -> int:
    changes = np.abs(np.diff(differences))
    return 1 + int(np.nanargmin(changes)) if np.isfinite(changes).any() else 0
