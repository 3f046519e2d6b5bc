"""The row of a recording while its numbers are still on their way from the device."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from addnorm.format import Number, encoded
from addnorm.probe import norms

NOWHERE = -1  # the block of a matrix that is in none
SHARE_DIGITS = 5  # after the point, of the share of a bin: at most eight bytes with its comma
OF_PASSES = ("act", "output", "input")  # what a forward pass gives


class Fetch:
    """A few numbers on their way to the host. Only `values` waits for them."""

    def __init__(self, tensor: Tensor) -> None:
        self._event: Any = None
        if tensor.device.type == "cuda":
            self._tensor = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            with torch.cuda.device(tensor.device):
                self._tensor.copy_(tensor, non_blocking=True)
                self._event = torch.cuda.Event()
                self._event.record()
        else:
            self._tensor = tensor

    def ready(self) -> bool:
        """Whether the numbers have arrived."""
        return self._event is None or bool(self._event.query())

    def values(self) -> list[float]:
        """The numbers; waits if it must."""
        if self._event is not None:
            self._event.synchronize()
        values = self._tensor.tolist()
        return values if isinstance(values, list) else [values]


@dataclass
class Part:
    """Norms of tensors on their way: for each its series, its index there, and how many numbers it is of.

    `factors` multiply the squares, where a tensor is a sample of a larger one.
    """

    fetch: Fetch
    targets: list[tuple[str, int, int]]
    factors: Sequence[float] = ()
    number: int = 0  # of the forward pass that its activations are of


def parts_of(
    measured: Sequence[tuple[str, int, Tensor]],
    already: Sequence[tuple[str, int, int, Tensor]] = (),
    *,
    number: int = 0,
) -> list[Part]:
    """Norms of tensors, one read for each device. `already`: norms taken before, with the count of their numbers."""
    by_device: dict[torch.device, list[tuple[str, int, Tensor]]] = {}
    for name, at, tensor in measured:
        by_device.setdefault(tensor.device, []).append((name, at, dense(tensor)))
    values = [
        Part(
            Fetch(norms([tensor for *_, tensor in group])),
            [(name, at, tensor.numel()) for name, at, tensor in group],
            number=number,
        )
        for group in by_device.values()
    ]
    return values + [Part(Fetch(norm), [(name, at, count)], number=number) for name, at, count, norm in already]


def dense(tensor: Tensor) -> Tensor:
    """A tensor, or the values that a sparse one holds."""
    return tensor.coalesce().values() if tensor.is_sparse else tensor


@dataclass
class PendingRow:
    """What has been measured of one step so far."""

    step: int
    seconds: float = 0.0
    parts: list[Part] = field(default_factory=list)
    # Forward passes have numbers from 1 on. Once gradients that count have come to some, the activations of others do
    # not count: nothing was learned from those.
    reached: set[int] = field(default_factory=set)
    aside: set[int] = field(default_factory=set)  # those to which gradients have come that count no longer
    cosines: list[tuple[int, list[int], Fetch]] = field(default_factory=list)  # forward pass, sites, their numbers
    histograms: list[tuple[int, list[int], Fetch]] = field(
        default_factory=list
    )  # the same, as many numbers a site as bins
    losses: list[Fetch] = field(default_factory=list)
    own_loss: bool = False  # told by the training loop, not found in the model's output
    shares: bool = False  # the losses add up to that of the step
    roots: list[Fetch] = field(default_factory=list)  # what `backward` was called on, for each small batch
    lr: float | Fetch | None = None
    scale: Fetch | None = None  # AMP's factor on the loss
    weights_scaled: bool = False  # whether the gradients of the weights still carry it
    # Forward pass, first head of a module, and the mean squares of its heads.
    heads: list[tuple[int, int, Fetch]] = field(default_factory=list)
    unclipped: list[Part] = field(default_factory=list)  # of all gradients, before they were clipped
    first: list[Part] = field(default_factory=list)  # gradients of the weights, where later passes change them
    block_of: Sequence[int] = ()  # of each matrix
    expected: Collection[int] = ()  # matrices to which a gradient should come
    thawed: Sequence[int] = ()  # matrices that were frozen and receive a gradient
    calls: Sequence[int] = ()  # by site, of its module, where they are not those of the first pass
    left: Fetch | None = None  # norm of a gradient of the step before that is still there, and of how many numbers
    left_count: int = 1
    prints: Fetch | None = None  # of the matrices, before the first update
    equals: Callable[[Sequence[float]], list[int]] | None = None  # see `Weights.first_equals`
    skipped: bool = False
    by_optimizer: bool = False  # an update follows; without one, weights that stay the same were not seen to be updated

    def put_aside(self) -> None:
        """Puts the gradients so far aside, which count no longer."""
        self._rename("grad", "aside")
        self.aside |= self.reached
        self.reached, self.roots = set(), []

    def take_back(self) -> None:
        """Takes back what was put aside, which counts after all."""
        self._rename("aside", "grad")
        self.reached |= self.aside

    def _rename(self, old: str, new: str) -> None:
        for part in self.parts:
            part.targets = [(new if name == old else name, at, count) for name, at, count in part.targets]

    def fetches(self) -> list[Fetch]:
        """All numbers on their way."""
        late = [self.scale] if self.scale else []
        late += [fetch for fetch in (self.lr, self.left, self.prints) if isinstance(fetch, Fetch)]
        late += [part.fetch for part in self.unclipped] + [fetch for *_, fetch in self.heads] + self.roots
        late += [fetch for *_, fetch in self.histograms]
        return [*(part.fetch for part in self.parts), *(fetch for *_, fetch in self.cosines), *self.losses, *late]

    def ready(self) -> bool:
        """Whether all numbers have arrived."""
        return all(fetch.ready() for fetch in self.fetches())

    def loss(self) -> float | None:
        """The loss of the step; waits for it if it must."""
        losses = self._told()
        return sum(losses) / (1 if self._add_up(losses) else len(losses)) if losses else None

    def _told(self) -> list[float]:
        return [value for fetch in self.losses for value in fetch.values()]

    def _add_up(self, losses: Sequence[float]) -> bool:
        """Whether the losses told are the shares that `backward` was called on, and not each that of a small batch.

        Shares add up to what it was called on in all; losses of n small batches to n times as much.
        """
        if self.shares or len(self.roots) < 2:
            return self.shares
        whole = sum(value for fetch in self.roots for value in fetch.values()) / self._scale()
        return whole != 0 and 0 < sum(losses) / whole < math.sqrt(len(self.roots))

    def _scale(self) -> float:
        return self.scale.values()[0] if self.scale else 1.0

    def _counts(self, number: int) -> bool:
        """Whether the activations of a forward pass count."""
        return not self.reached or number in self.reached

    def line(self, header: Mapping[str, Any]) -> dict[str, Any]:
        """The row as it is written below a header; waits for its numbers if it must."""
        sites, blocks, heads, weights = (len(header.get(name, ())) for name in ("sites", "blocks", "heads", "weights"))
        squares, counts = self.sums()
        scale = self._scale()

        def series(name: str, length: int, factor: float = 1.0) -> list[Number]:
            return [encoded(_rms(squares.get((name, at)), counts.get((name, at), 0), factor)) for at in range(length)]

        lr = self.lr.values()[0] if isinstance(self.lr, Fetch) else self.lr
        weight_factor = 1 / scale if self.weights_scaled else 1.0
        parameters = [square for (name, _), square in squares.items() if name in ("weight_grad", "other_grad")]
        line: dict[str, Any] = {
            "step": self.step,
            "seconds": round(self.seconds, 3),
            "loss": encoded(self.loss(), 9),
            "lr": encoded(lr, 9),
            "grad_norm": encoded(math.sqrt(sum(parameters)) * weight_factor) if parameters else None,
            "output": encoded(_rms(squares.get(("output", 0)), counts.get(("output", 0), 0), 1.0)),
            "act_rms": series("act", sites),
            "grad_rms": series("grad", sites, 1 / scale),
            "weight_grad_rms": series("weight_grad", blocks, weight_factor),
        }
        if self.unclipped:
            whole = sum(norm * norm for part in self.unclipped for norm in part.fetch.values())
            line["grad_norm_unclipped"] = encoded(math.sqrt(whole) / scale)
        if ("input", 0) in squares:
            line["input"] = encoded(_rms(squares["input", 0], counts["input", 0], 1.0))
        if self.left is not None:
            line["gradient_left"] = encoded(self.left.values()[0] / math.sqrt(self.left_count) / scale)
        line |= self._facts(squares)
        if self.heads:
            line["head"] = [encoded(size) for size in self._head_sizes(heads)]
        if weights:
            line["parameter_grad"] = series("parameter_grad", weights, weight_factor)
        if self.cosines:
            line["sample_cosine"] = [encoded(cosine) for cosine in self._mean_cosines(sites)]
        if self.histograms:
            line["histogram"] = self._mean_shares(sites, header.get("bins", 0))
        moved = self.by_optimizer or any(square for (name, _), square in squares.items() if name == "change")
        if moved and any(name == "old" for name, _ in squares):
            line["update_to_weight"] = [
                encoded(_ratio(squares.get(("change", at)), squares.get(("old", at)))) for at in range(blocks)
            ]
        if self.skipped:
            line["skipped"] = True
        if len(losses := self._told()) > 1 and self._add_up(losses):
            line["loss_sum_of"] = len(losses)
        return line

    def _facts(self, squares: Mapping[tuple[str, int], float]) -> dict[str, list[int]]:
        """Lists of counts, where there is something to tell."""
        facts = {
            "absent": [at for at in sorted(self.expected) if ("matrix", at) not in squares],
            "zero": [at for at in sorted(self.expected) if squares.get(("matrix", at)) == 0],
            "thawed": list(self.thawed),
            "calls": list(self.calls),
        }
        if self.prints is not None and self.equals is not None:
            of = self.equals(self.prints.values())
            facts["copy_of"] = of if of != list(range(len(of))) else []
        return {name: counts for name, counts in facts.items() if counts}

    def _head_sizes(self, count: int) -> list[float | None]:
        values: list[list[float]] = [[] for _ in range(count)]
        for _, start, fetch in filter(lambda one: self._counts(one[0]), self.heads):
            for at, square in enumerate(fetch.values(), start=start):
                values[at].append(square)
        return [math.sqrt(sum(one) / len(one)) if one else None for one in values]

    def _mean_cosines(self, sites: int) -> list[float | None]:
        values: list[list[float]] = [[] for _ in range(sites)]
        for _, places, fetch in filter(lambda one: self._counts(one[0]), self.cosines):
            for at, cosine in zip(places, fetch.values(), strict=True):
                values[at].append(cosine)
        return [sum(one) / len(one) if one else None for one in values]

    def _mean_shares(self, sites: int, bins: int) -> list[float | None]:
        """Site by site the share of each bin, None where it was not counted; of several small batches the mean."""
        values: list[list[list[float]]] = [[] for _ in range(sites)]
        for _, places, fetch in filter(lambda one: self._counts(one[0]), self.histograms):
            shares = fetch.values()
            for at, site in enumerate(places):
                values[site].append(shares[at * bins : (at + 1) * bins])
        means: list[float | None] = []
        for one in values:
            means += [round(sum(shared) / len(one), SHARE_DIGITS) for shared in zip(*one, strict=True)] or [None] * bins
        return means

    def _places(self, name: str, at: int) -> list[tuple[str, int]]:
        """Where the square of a tensor counts: that of a matrix also in its block."""
        if name != "matrix":
            return [(name, at)]
        block = self.block_of[at]
        return [(name, at), ("other_grad", 0) if block == NOWHERE else ("weight_grad", block)]

    def sums(self) -> tuple[dict[tuple[str, int], float], dict[tuple[str, int], int]]:
        """Squares, and of how many numbers they are, by series and index there."""
        squares: dict[tuple[str, int], float] = {}
        counts: dict[tuple[str, int], int] = {}
        for part in self.parts:
            factors = part.factors or [1.0] * len(part.targets)
            for (name, at, count), norm, factor in zip(part.targets, part.fetch.values(), factors, strict=True):
                if name in OF_PASSES and not self._counts(part.number):
                    continue
                for place in self._places(name, at):
                    squares[place] = squares.get(place, 0.0) + norm * norm * factor
                    counts[place] = counts.get(place, 0) + count
        return squares, counts


def _rms(square: float | None, count: int, factor: float) -> float | None:
    return None if square is None or not count else math.sqrt(square / count) * factor


def _ratio(change: float | None, old: float | None) -> float | None:
    if change is None or old is None:
        return None
    return math.sqrt(change / old) if old else (0.0 if change == 0 else math.inf)


class Rows:
    """Rows that wait for their numbers, the newest also for its loss. Each is written once, in order, when complete."""

    def __init__(self, write: Callable[[PendingRow], None], most: int = 64) -> None:
        self._write = write
        self._most = most
        self.waiting: list[PendingRow] = []
        self.dropped = 0

    def add(self, row: PendingRow) -> None:
        """Takes a row. Where the device is far behind, the oldest row is dropped rather than waited for."""
        self.waiting.append(row)
        while len(self.waiting) > 1 and self.waiting[0].ready():
            self._write(self.waiting.pop(0))
        if len(self.waiting) > self._most:
            self.waiting.pop(0)
            self.dropped += 1

    def finish(self) -> None:
        """Waits for all rows that are left and writes them."""
        while self.waiting:
            self._write(self.waiting.pop(0))
