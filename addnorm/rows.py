"""Rows of a recording whose numbers are still on their way from the device."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from addnorm.format import Number, encode_number
from addnorm.probe import norms

NOWHERE = -1  # the block index of a matrix outside all blocks
SHARE_DIGITS = 5  # decimals of a bin's share: at most eight bytes in the file
MIN_SMALL_BATCHES = 3  # of an update, whose backward passes are counted
FORWARD_SERIES = ("act", "output", "input")  # measured in forward passes

SeriesIndex = tuple[str, int]  # a series and the index in it
Target = tuple[str, int, int]  # of a norm: its series, the index in it, and the count of numbers in the tensor


class Fetch:
    """A few numbers that are being copied from the device. Only `values` waits for them."""

    def __init__(self, tensor: Tensor) -> None:
        self._event: Any = None
        if tensor.is_cuda:
            self._tensor = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            with torch.cuda.device(tensor.device):
                self._tensor.copy_(tensor, non_blocking=True)
                self._event = torch.cuda.Event(blocking=True)  # the writer's thread sleeps until then
                self._event.record()
        else:
            self._tensor = tensor

    def values(self) -> list[float]:
        """The numbers; waits until they have arrived."""
        if self._event is not None:
            self._event.synchronize()
        values = self._tensor.tolist()
        return values if isinstance(values, list) else [values]


@dataclass
class Part:
    """Norms of tensors that are being fetched, and the series that each belongs to.

    `factors` multiply the squares if a tensor is a sample of a larger one.
    """

    fetch: Fetch
    targets: list[Target]
    factors: Sequence[float] = ()
    pass_number: int = 0  # the forward pass that measured activations


def parts_of(
    measured: Sequence[tuple[str, int, Tensor]],
    early_norms: Sequence[tuple[str, int, int, Tensor]] = (),
    *,
    pass_number: int = 0,
) -> list[Part]:
    """Starts to fetch the norms of tensors without a graph, one read per device.

    `measured`: series, index and tensor. `early_norms`: series, index, count of numbers and a norm taken earlier.
    """
    by_device: dict[torch.device, list[tuple[str, int, Tensor]]] = {}
    for name, index, tensor in measured:
        item = (name, index, dense(tensor) if tensor.is_sparse else tensor)
        by_device.setdefault(tensor.device, []).append(item)
    parts = []
    for group in by_device.values():
        targets = [(name, index, tensor.numel()) for name, index, tensor in group]
        tensors = [tensor for *_, tensor in group]
        parts.append(Part(Fetch(norms(tensors)), targets, pass_number=pass_number))
    for name, index, count, norm in early_norms:
        parts.append(Part(Fetch(norm), [(name, index, count)], pass_number=pass_number))
    return parts


def dense(tensor: Tensor) -> Tensor:
    """The tensor, or the stored values of a sparse one."""
    return tensor.coalesce().values() if tensor.is_sparse else tensor


@dataclass
class PendingRow:
    """The measurements of one step so far. Forward passes are numbered from 1."""

    step: int
    seconds: float = 0.0
    parts: list[Part] = field(default_factory=list)
    # Forward passes that gradients have reached. If there are any, the activations of all other passes do not count,
    # because the update does not depend on them.
    reached: set[int] = field(default_factory=set)
    aside: set[int] = field(default_factory=set)  # forward passes whose gradients no longer count
    # Forward pass, site indices, and a cosine or all bin shares for each of these sites.
    cosines: list[tuple[int, list[int], Fetch]] = field(default_factory=list)
    histograms: list[tuple[int, list[int], Fetch]] = field(default_factory=list)
    # Forward pass, index of a module's first head, and the mean squares of its heads.
    heads: list[tuple[int, int, Fetch]] = field(default_factory=list)
    losses: list[Fetch] = field(default_factory=list)
    loss_from_loop: bool = False  # `recorder.loss` was called; otherwise the loss comes from the model's output
    losses_are_shares: bool = False  # the loss of the step is their sum
    roots: list[Fetch] = field(default_factory=list)  # the losses that `backward` was called on
    root_losses: list[Tensor] = field(default_factory=list)  # the same without a factor, to know one that is told
    lr: float | Fetch | None = None
    scale: Fetch | None = None  # AMP's factor on the loss
    weights_scaled: bool = False  # the gradients of the weights are still multiplied by `scale`
    unclipped: list[Part] = field(default_factory=list)  # norms of all gradients before clipping
    first_gradients: list[Part] = field(default_factory=list)  # norms after the first pass, if later passes follow
    block_of: Sequence[int] = ()  # block index of each matrix
    expected: Collection[int] = ()  # indices of the matrices that should receive a gradient
    unheld: Sequence[int] = ()  # indices of matrices with a gradient that no optimizer holds
    thawed: Sequence[int] = ()  # indices of frozen matrices that receive a gradient
    calls: Sequence[int] = ()  # calls of each site's module, if they differ from the first pass
    leftover: Fetch | None = None  # norm of a gradient that the previous step did not zero
    leftover_size: int = 1  # count of numbers in that gradient
    fingerprints: Fetch | None = None  # sums over each matrix before the first update, see `Weights.fingerprints`
    first_equal: Callable[[Sequence[float]], list[int]] | None = None  # see `Weights.first_equal`
    # Kind, classes, and whether it is of probabilities: of the loss that `backward` was called on.
    loss_form: list[int] = field(default_factory=list)
    cross_entropy: Fetch | None = None
    target: Fetch | None = None  # root mean square of what the output is compared with
    input_mark: Fetch | None = None  # mean of the only input, weighted by position
    undivided: int = 0  # backward passes on a mean that nothing has divided
    discarded: int = 0  # times that zero_grad has thrown away the gradients of an earlier forward pass
    forward_passes: int = 0
    unmoved: list[tuple[int, Fetch]] = field(default_factory=list)  # by unheld matrix: whether it is as it was
    lost: list[tuple[int, Fetch]] = field(default_factory=list)  # see `weights.lost_shares`
    # Forward pass, site indices, and the largest magnitude at each of these sites.
    peaks: list[tuple[int, list[int], Fetch]] = field(default_factory=list)
    skipped: bool = False  # AMP skipped the update
    by_optimizer: bool = False  # an update follows; without an optimiser, unchanged weights mean that none was seen

    def put_aside(self) -> None:
        """Excludes the gradients so far, because others replace them."""
        self._rename("grad", "aside")
        self.aside |= self.reached
        self.reached = set()
        self.roots = []

    def take_back(self) -> None:
        """Includes the gradients that were put aside again."""
        self._rename("aside", "grad")
        self.reached |= self.aside

    def _rename(self, old: str, new: str) -> None:
        for part in self.parts:
            part.targets = [(new if series == old else series, index, size) for series, index, size in part.targets]

    def loss(self) -> float | None:
        """The loss of the step; waits until it has arrived."""
        losses = self._loss_values()
        if not losses:
            return None
        return sum(losses) / (1 if self._losses_add_up(losses) else len(losses))

    def _loss_values(self) -> list[float]:
        return [value for fetch in self.losses for value in fetch.values()]

    def _losses_add_up(self, losses: Sequence[float]) -> bool:
        """Whether the losses are shares of the step's loss, rather than the losses of small batches.

        Shares add up to the sum of the losses that `backward` was called on, those of n small batches to n times that.
        """
        if self.losses_are_shares or len(self.roots) < 2:
            return self.losses_are_shares
        root_sum = sum(value for fetch in self.roots for value in fetch.values()) / self._scale()
        return root_sum != 0 and 0 < sum(losses) / root_sum < math.sqrt(len(self.roots))

    def _scale(self) -> float:
        return self.scale.values()[0] if self.scale else 1.0

    def _is_counted(self, pass_number: int) -> bool:
        return not self.reached or pass_number in self.reached

    def line(self, header: Mapping[str, Any]) -> dict[str, Any]:
        """The row's entry in the file below a header; waits until its numbers have arrived."""
        counts = {name: len(header.get(name, ())) for name in ("sites", "blocks", "heads", "weights")}
        sums = self.sums()
        scale = self._scale()
        weight_factor = 1 / scale if self.weights_scaled else 1.0
        lr = self.lr.values()[0] if isinstance(self.lr, Fetch) else self.lr
        weight_squares = [total.square for (name, _), total in sums.items() if name in ("weight_grad", "other_grad")]
        line: dict[str, Any] = {
            "step": self.step,
            "seconds": round(self.seconds, 3),
            "loss": encode_number(self.loss(), 9),
            "lr": encode_number(lr, 9),
            "grad_norm": encode_number(math.sqrt(sum(weight_squares)) * weight_factor) if weight_squares else None,
            "output": _encode_rms(sums, "output"),
            "act_rms": _encode_series(sums, "act", counts["sites"]),
            "grad_rms": _encode_series(sums, "grad", counts["sites"], 1 / scale),
            "weight_grad_rms": _encode_series(sums, "weight_grad", counts["blocks"], weight_factor),
        }
        if self.unclipped:
            square = sum(norm * norm for part in self.unclipped for norm in part.fetch.values())
            line["grad_norm_unclipped"] = encode_number(math.sqrt(square) / scale)
        if ("input", 0) in sums:
            line["input"] = _encode_rms(sums, "input")
        if self.leftover is not None:
            line["gradient_left"] = encode_number(self.leftover.values()[0] / math.sqrt(self.leftover_size) / scale)
        singles = {"target": self.target, "cross_entropy": self.cross_entropy, "input_mark": self.input_mark}
        line |= {name: encode_number(fetch.values()[0], 9) for name, fetch in singles.items() if fetch is not None}
        line |= self._facts(sums)
        if self.heads:
            line["head"] = [encode_number(size) for size in self._head_sizes(counts["heads"])]
        if counts["weights"]:
            line["parameter_grad"] = _encode_series(sums, "parameter_grad", counts["weights"], weight_factor)
        if self.cosines:
            line["sample_cosine"] = [encode_number(cosine) for cosine in self._mean_cosines(counts["sites"])]
        if self.peaks:
            line["act_peak"] = list(map(encode_number, self._peaks_over_rms(sums, counts["sites"])))
        if self.lost:
            line["update_lost"] = list(map(encode_number, self._lost_shares(counts["blocks"])))
        if self.histograms:
            line["histogram"] = self._mean_shares(counts["sites"], header.get("bins", 0))
        has_moved = self.by_optimizer or any(total.square for (name, _), total in sums.items() if name == "change")
        if has_moved and any(name == "old" for name, _ in sums):
            blocks = range(counts["blocks"])
            ratios = [_ratio(sums.get(("change", block)), sums.get(("old", block))) for block in blocks]
            line["update_to_weight"] = [encode_number(ratio) for ratio in ratios]
        if self.skipped:
            line["skipped"] = True
        losses = self._loss_values()
        if len(losses) > 1 and self._losses_add_up(losses):
            line["loss_sum_of"] = len(losses)
        return line

    def _facts(self, sums: Mapping[SeriesIndex, SumOfSquares]) -> dict[str, list[int]]:
        """The facts of the row by name, as lists of counts; empty lists are left out."""
        expected = sorted(self.expected)
        squares = {matrix: sums["matrix", matrix].square for matrix in expected if ("matrix", matrix) in sums}
        facts = {
            "absent": [matrix for matrix in expected if matrix not in squares],
            "zero": [matrix for matrix, square in squares.items() if square == 0],
            "unheld": list(self.unheld),
            "thawed": list(self.thawed),
            "calls": list(self.calls),
            "loss_form": self.loss_form,
            "undivided": [self.undivided] if self.undivided == self.forward_passes >= MIN_SMALL_BATCHES else [],
            "discarded": [self.discarded] if self.discarded else [],
            "unmoved": [index for index, fetch in self.unmoved if fetch.values()[0]],
        }
        if self.fingerprints is not None and self.first_equal is not None:
            first_equal = self.first_equal(self.fingerprints.values())
            trained = set(expected).difference(facts["absent"])  # a target copy is not
            first_trained: dict[int, int] = {}
            for index, first in enumerate(first_equal):
                first_equal[index] = first_trained.setdefault(first, index) if index in trained else index
            facts["copy_of"] = first_equal if first_equal != list(range(len(first_equal))) else []
        return {name: counts for name, counts in facts.items() if counts}

    def _head_sizes(self, count: int) -> list[float | None]:
        squares: list[list[float]] = [[] for _ in range(count)]
        for pass_number, start, fetch in self.heads:
            if self._is_counted(pass_number):
                for head, square in enumerate(fetch.values(), start=start):
                    squares[head].append(square)
        return [math.sqrt(sum(values) / len(values)) if values else None for values in squares]

    def _mean_cosines(self, sites: int) -> list[float | None]:
        cosines: list[list[float]] = [[] for _ in range(sites)]
        for pass_number, indices, fetch in self.cosines:
            if self._is_counted(pass_number):
                for site, cosine in zip(indices, fetch.values(), strict=True):
                    cosines[site].append(cosine)
        return [sum(values) / len(values) if values else None for values in cosines]

    def _peaks_over_rms(self, sums: Mapping[SeriesIndex, SumOfSquares], sites: int) -> list[float | None]:
        peaks: list[float | None] = [None] * sites
        for pass_number, indices, fetch in self.peaks:
            if self._is_counted(pass_number):
                for site, peak in zip(indices, fetch.values(), strict=True):
                    peaks[site] = max(peaks[site] or 0.0, peak)
        totals = [sums.get(("act", site)) for site in range(sites)]
        return [
            None if peak is None or total is None or not total.square else peak / math.sqrt(total.square / total.count)
            for peak, total in zip(peaks, totals, strict=True)
        ]

    def _lost_shares(self, blocks: int) -> list[float | None]:
        lost, all_numbers = [0.0] * blocks, [0.0] * blocks
        for block, fetch in self.lost:
            unchanged, count = fetch.values()
            lost[block] += unchanged
            all_numbers[block] += count
        return [part / count if count else None for part, count in zip(lost, all_numbers, strict=True)]

    def _mean_shares(self, sites: int, bins: int) -> list[float | None]:
        """Site by site the share of each bin, averaged over small batches; None for sites that were not counted."""
        shares_by_site: list[list[list[float]]] = [[] for _ in range(sites)]
        for pass_number, indices, fetch in self.histograms:
            if self._is_counted(pass_number):
                shares = fetch.values()
                for position, site in enumerate(indices):
                    start = position * bins
                    shares_by_site[site].append(shares[start : start + bins])
        means: list[float | None] = []
        for batches in shares_by_site:
            site_means = [round(sum(shares) / len(batches), SHARE_DIGITS) for shares in zip(*batches, strict=True)]
            means += site_means or [None] * bins
        return means

    def sums(self) -> dict[SeriesIndex, SumOfSquares]:
        """Sums of squares by series and index; waits until the norms have arrived."""
        sums: defaultdict[SeriesIndex, SumOfSquares] = defaultdict(SumOfSquares)
        for part in self.parts:
            is_counted = self._is_counted(part.pass_number)
            factors = part.factors or [1.0] * len(part.targets)
            for (series, index, size), norm, factor in zip(part.targets, part.fetch.values(), factors, strict=True):
                if series in FORWARD_SERIES and not is_counted:
                    continue
                totals = [sums[series, index]]
                if series == "matrix":
                    block = self.block_of[index]
                    totals.append(sums["other_grad", 0] if block == NOWHERE else sums["weight_grad", block])
                for total in totals:
                    total.square += norm * norm * factor
                    total.count += size
        return sums


@dataclass(slots=True)
class SumOfSquares:
    """A sum of squares and the count of its numbers."""

    square: float = 0.0
    count: int = 0


def _encode_series(
    sums: Mapping[SeriesIndex, SumOfSquares], name: str, length: int, factor: float = 1.0
) -> list[Number]:
    return [_encode_rms(sums, name, index, factor) for index in range(length)]


def _encode_rms(sums: Mapping[SeriesIndex, SumOfSquares], name: str, index: int = 0, factor: float = 1.0) -> Number:
    total = sums.get((name, index))
    if total is None or not total.count:
        return None
    return encode_number(math.sqrt(total.square / total.count) * factor)


def _ratio(change: SumOfSquares | None, old: SumOfSquares | None) -> float | None:
    if change is None or old is None:
        return None
    if not old.square:
        return 0.0 if change.square == 0 else math.inf
    return math.sqrt(change.square / old.square)
