"""Measurements of the traced pass: the signal at every boundary, any of which may turn out to be a site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from addnorm.cosine import cosines_of, peaks_of
from addnorm.histogram import histograms_of
from addnorm.rows import Fetch, Part, PendingRow, parts_of
from addnorm.sites import Site


@dataclass(frozen=True)
class Measurement:
    """Norm of a tensor; its mean cosine, largest magnitude and bin shares where they could be measured."""

    norm: Part
    cosines: list[Fetch]
    peaks: list[Fetch]
    histograms: list[Fetch]


class FirstPass:
    """Measurements by node of the trace, until the sites are known. `histograms`: whether to measure those too."""

    def __init__(self, *, histograms: bool = False) -> None:
        self._by_node: dict[int, Measurement] = {}
        self._histograms = histograms

    def measure(self, node: int, tensor: Tensor) -> None:
        """Measures the tensor at a node."""
        values = tensor.detach()
        (norm,) = parts_of([("act", 0, values)])
        cosines = [cosine for _, cosine in cosines_of([(0, values)])]
        peaks = [peak for _, peak in peaks_of([(0, values)])]
        shares = histograms_of([(0, values)]) if self._histograms else []
        self._by_node[node] = Measurement(norm, cosines, peaks, [share for _, share in shares])

    def fill_row(self, row: PendingRow, sites: Sequence[Site]) -> None:
        """Adds the measurements at the sites to a row, as those of forward pass 1."""
        for index, site in enumerate(sites):
            if (measurement := self._by_node.get(site.node)) is None:
                continue
            targets = [("act", index, size) for _, _, size in measurement.norm.targets]
            row.parts.append(Part(measurement.norm.fetch, targets, pass_number=1))
            row.cosines += [(1, [index], cosine) for cosine in measurement.cosines]
            row.peaks += [(1, [index], peak) for peak in measurement.peaks]
            row.histograms += [(1, [index], shares) for shares in measurement.histograms]
