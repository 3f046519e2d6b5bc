"""Gradient check: autograd against central differences of the loss, in float64 on the same batch."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from exhibits.instruments.check.answer import CHECK, GradientCheck
from models.generator import generator
from models.instruments import on_snapshot
from models.nets import Net
from models.nets.hooks import Hook, forward_hooks
from models.spec import plan
from models.spec.knob import check_integer
from models.training import Snapshot, Work, cross_entropy
from models.training.rows import block_matrices

# Relative to the length of the moved tensors. Large steps suffer from curvature, small ones from rounding of the loss.
DIFFERENCE_STEPS = tuple(10.0**-power for power in range(2, 8))
WEIGHTS, STREAM = "weights", "stream"


def check(snapshot: Snapshot, *, block: int) -> Work[GradientCheck]:
    """Slopes of the loss with respect to a block's weight matrices and to the stream at its last site.

    Slopes are taken along the gradient and along a fixed random direction. The chosen step is the one whose difference
    is closest to that of the next larger step. ValueError for a block that the net does not have.
    """
    check_integer("block", block, 1, snapshot.cfg.depth)
    bench = _Bench(*snapshot.exact(), last_site(snapshot, block))
    matrices = block_matrices(bench.model)[block - 1]
    gradients = bench.gradients(matrices)
    targets = [_Target(STREAM, [bench.shift], gradients[-1:], bench.stream_length)]
    if matrices:
        weights = [p.detach() for p in matrices]
        targets.insert(0, _Target(WEIGHTS, weights, gradients[:-1], _length(weights)))
    checked: list[_CheckedSlope] = []
    for target in targets:
        for title, direction in _directions(target.gradient, snapshot.cfg.seed).items():
            analytic = sum((a * b).sum().item() for a, b in zip(target.gradient, direction, strict=True))
            steps = [relative * target.length for relative in DIFFERENCE_STEPS]
            differences: list[_Difference] = []
            for step in steps:
                differences.append(bench.difference(target.tensors, direction, step))
                yield (len(checked) + len(differences) / len(steps)) / (2 * len(targets))
            checked.append(_CheckedSlope(target.name, title, analytic, steps, differences))
    slopes = [[difference.slope for difference in entry.differences] for entry in checked]
    return GradientCheck(
        target=tuple(entry.target for entry in checked),
        direction=tuple(entry.direction for entry in checked),
        rms={target.name: target.gradient_rms for target in targets},
        loss=bench.loss().item(),
        analytic=np.array([entry.analytic for entry in checked]),
        difference=np.array(slopes),
        step=np.array([entry.steps for entry in checked]),
        kinks=np.array([[difference.kinks for difference in entry.differences] for entry in checked]),
        chosen=np.array([_steadiest(by_step) for by_step in slopes]),
    )


def last_site(snapshot: Snapshot, block: int) -> int:
    """Index of a block's last site."""
    return max(site for site, sublayer in enumerate(plan(snapshot.cfg).sublayers, 1) if sublayer.block == block)


class _Target(NamedTuple):
    """Tensors that a check moves, and their gradient. Steps are relative to `length`."""

    name: str
    tensors: list[Tensor]
    gradient: list[Tensor]
    length: float

    @property
    def gradient_rms(self) -> float:
        return _length(self.gradient) / sum(part.numel() for part in self.gradient) ** 0.5


class _Difference(NamedTuple):
    """A central difference, and the number of ReLU inputs that change sign between its two ends."""

    slope: float
    kinks: int


class _CheckedSlope(NamedTuple):
    """The slope along one direction by autograd, and its central differences by step."""

    target: str
    direction: str
    analytic: float
    steps: list[float]
    differences: list[_Difference]


class _Bench:
    """Loss of one batch as a function of the weights, and of a `shift` that is added to the stream at one site."""

    def __init__(self, model: Net, x: Tensor, y: Tensor, site: int) -> None:
        self.model, self.x, self.y = model, x, y
        self.tap = model.stream.stream_taps[site]
        self.relus = [module for module in model.modules() if isinstance(module, nn.ReLU)]
        stream: list[Tensor] = []
        with torch.no_grad(), forward_hooks([(self.tap, lambda _m, _i, out: stream.append(out))]):
            self.model(x)
        self.shift = torch.zeros_like(stream[0])
        self.stream_length = stream[0].norm().item()

    def loss(self) -> Tensor:
        """Loss at the current weights and shift."""
        with forward_hooks([(self.tap, lambda _m, _i, out: out + self.shift)]):
            return cross_entropy(self.model(self.x), self.y)

    def gradients(self, matrices: Sequence[Tensor]) -> list[Tensor]:
        """Gradient of each matrix, then of the stream at the site, by autograd."""
        self.shift.requires_grad_()
        tensors = [*matrices, self.shift]
        grads = torch.autograd.grad(self.loss(), tensors, materialize_grads=True)
        self.shift.requires_grad_(False)
        return list(grads)

    def difference(self, tensors: list[Tensor], direction: list[Tensor], step: float) -> _Difference:
        """(L(+step) - L(-step)) / (2 step) along a direction; NaN for a step of 0. The tensors are restored."""
        start = [tensor.clone() for tensor in tensors]
        losses: list[float] = []
        positive: list[list[Tensor]] = []
        for sign in (1, -1):
            inputs_positive: list[Tensor] = []
            for tensor, origin, part in zip(tensors, start, direction, strict=True):
                tensor.copy_(origin + sign * step * part)
            with torch.no_grad(), forward_hooks([(relu, _sign_recorder(inputs_positive)) for relu in self.relus]):
                losses.append(self.loss().item())
            positive.append(inputs_positive)
        for tensor, origin in zip(tensors, start, strict=True):
            tensor.copy_(origin)
        kinks = sum(int((a != b).sum()) for a, b in zip(*positive, strict=True))
        return _Difference((losses[0] - losses[1]) / (2 * step) if step else float("nan"), kinks)


def _sign_recorder(inputs_positive: list[Tensor]) -> Hook:
    return lambda _module, inputs, _output: inputs_positive.append(inputs[0] > 0)


def _directions(gradient: list[Tensor], seed: int) -> dict[str, list[Tensor]]:
    """Directions of length 1 by name: the gradient's, unless it is 0, and a random one that the seed decides."""
    source = generator(seed, "check")
    noise = [torch.randn(part.shape, generator=source, dtype=part.dtype) for part in gradient]
    length = _length(gradient)
    directions = {}
    if length != 0:  # NaN included
        directions["the gradient"] = [part / length for part in gradient]
    directions["a random direction"] = [part / _length(noise) for part in noise]
    return directions


def _length(parts: list[Tensor]) -> float:
    return float(torch.stack([part.square().sum() for part in parts]).sum().sqrt())


def _steadiest(differences: list[float]) -> int:
    """Index of the difference closest to the one before it; 0 if no two are finite."""
    changes = np.abs(np.diff(differences))
    return 1 + int(np.nanargmin(changes)) if np.isfinite(changes).any() else 0


MEASURES = {CHECK: on_snapshot(check)}
EXAMPLES = {CHECK: {"block": 1}}  # arguments of a question that needs some
