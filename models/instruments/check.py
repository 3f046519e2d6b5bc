"""The gradient that the charts show, against central differences of the loss in float64 on the same batch."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from models.answers import Check
from models.generator import generator
from models.nets import Net
from models.spec import plan
from models.training import Still, Work, cross_entropy

# Tried from large, where the curvature is seen, to small, where the rounding of the loss is; relative to what is moved.
STEPS = tuple(10.0**-power for power in range(2, 8))
WEIGHTS, STREAM = "weights", "stream"


def check(still: Still, *, block: int) -> Work[Check]:
    """Of one block's weight matrices and of the stream at its
    last site, along the gradient and a fixed random direction.

    The chosen step is where the difference changes least to the
    next larger step. ValueError for a block that is not there.
    """
    if not (isinstance(block, int) and 1 <= block <= still.cfg.depth):
        raise ValueError(f"block is {block!r}; legal is 1 to {still.cfg.depth}")
    model = still.model.cpu().double()
    x, y = (part.cpu() for part in still.batch())
    bench = _Bench(model, x.double() if x.is_floating_point() else x, y, last_site(still, block))
    matrices = [p for p in list(model.stream.blocks.values())[block - 1].parameters() if p.ndim > 1]
    moved: dict[str, tuple[list[Tensor], list[Tensor]]] = {}
    slopes = bench.gradients(matrices)
    if matrices:
        moved[WEIGHTS] = [p.detach() for p in matrices], slopes[:-1]
    moved[STREAM] = [bench.shift], slopes[-1:]
    what, directions, rms = [], [], {}
    rows: list[tuple[float, list[float], list[float], list[int], int]] = []
    for name, (places, gradient) in moved.items():
        rms[name] = _length(gradient) / sum(part.numel() for part in gradient) ** 0.5
        scale = _length(places) if name == WEIGHTS else bench.size
        for along, direction in _directions(gradient, still.cfg.seed).items():
            what.append(name)
            directions.append(along)
            slope = sum((a * b).sum().item() for a, b in zip(gradient, direction, strict=True))
            differences, kinks = [], []
            for relative in STEPS:
                difference, crossed = bench.difference(places, direction, relative * scale)
                differences.append(difference)
                kinks.append(crossed)
                yield (len(rows) + len(differences) / len(STEPS)) / (2 * len(moved))
            rows.append((slope, differences, [relative * scale for relative in STEPS], kinks, _steadiest(differences)))
    columns = (np.array(values) for values in zip(*rows, strict=True))
    return Check(tuple(what), tuple(directions), rms, bench.loss().item(), *columns)


def last_site(still: Still, block: int) -> int:
    """The place among the sites of the last one of a block."""
    return max(at for at, one in enumerate(plan(still.cfg).sublayers, 1) if one.block == block)


class _Bench:
    """The loss of one batch as a function of weights, and of a `shift` that is added to the stream at one site."""

    def __init__(self, model: Net, x: Tensor, y: Tensor, site: int) -> None:
        self.model, self.x, self.y = model, x, y
        self.tap = model.stream.stream_taps[site]
        self.relus = [module for module in model.modules() if isinstance(module, nn.ReLU)]
        self.shift = torch.zeros(())
        seen: list[Tensor] = []
        with torch.no_grad(), _hooked([(self.tap, lambda _m, _i, out: seen.append(out))]):
            self.model(x)
        self.shift, self.size = torch.zeros_like(seen[0]), seen[0].norm().item()

    def loss(self) -> Tensor:
        """Of the batch, with the weights and the shift as they are."""
        with _hooked([(self.tap, lambda _m, _i, out: out + self.shift)]):
            return cross_entropy(self.model(self.x), self.y)

    def gradients(self, matrices: Sequence[Tensor]) -> list[Tensor]:
        """By autograd: of each matrix, then of the stream at the site."""
        self.shift.requires_grad_()
        found = torch.autograd.grad(self.loss(), [*matrices, self.shift], allow_unused=True)
        self.shift.requires_grad_(False)
        pairs = zip(found, [*matrices, self.shift], strict=True)
        return [torch.zeros_like(place) if grad is None else grad for grad, place in pairs]

    def difference(self, places: list[Tensor], direction: list[Tensor], step: float) -> tuple[float, int]:
        """(L(+step) - L(-step)) / (2 step), and how many ReLU inputs have another sign at its two ends."""
        kept = [place.clone() for place in places]
        ends: list[float] = []
        signs: list[list[Tensor]] = []
        for sign in (1, -1):
            on: list[Tensor] = []
            for place, before, along in zip(places, kept, direction, strict=True):
                place.copy_(before + sign * step * along)
            with torch.no_grad(), _hooked([(relu, _keeping_signs(on)) for relu in self.relus]):
                ends.append(self.loss().item())
            signs.append(on)
        for place, before in zip(places, kept, strict=True):
            place.copy_(before)
        crossed = sum(int((a != b).sum()) for a, b in zip(*signs, strict=True))
        return (ends[0] - ends[1]) / (2 * step) if step else float("nan"), crossed


Hook = Callable[[nn.Module, Any, Tensor], Any]


def _keeping_signs(on: list[Tensor]) -> Hook:
    return lambda _module, inputs, _output: on.append(inputs[0] > 0)


@contextmanager
def _hooked(hooks: list[tuple[nn.Module, Hook]]) -> Iterator[None]:
    handles = [module.register_forward_hook(hook) for module, hook in hooks]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _directions(gradient: list[Tensor], seed: int) -> dict[str, list[Tensor]]:
    """Of length 1: along the gradient, where it has a direction, and a random one that is fixed by the seed."""
    source = generator(seed, "check")
    chance = [torch.randn(part.shape, generator=source, dtype=part.dtype) for part in gradient]
    length = _length(gradient)
    directions = {"the gradient": [part / length for part in gradient]} if length > 0 or np.isnan(length) else {}
    return directions | {"a random direction": [part / _length(chance) for part in chance]}


def _length(parts: list[Tensor]) -> float:
    return float(torch.stack([part.square().sum() for part in parts]).sum().sqrt())


def _steadiest(differences: list[float]) -> int:
    changes = np.abs(np.diff(differences))
    return 1 + int(np.nanargmin(changes)) if np.isfinite(changes).any() else 0
