"""What a traced pass has measured: the signal at every boundary, for any may turn out to be a site."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from addnorm.cosine import cosines_of
from addnorm.histogram import histograms_of
from addnorm.rows import Fetch, Part, PendingRow, parts_of
from addnorm.sites import Site


class FirstPass:
    """Signals by the node of the trace, until the sites are known. `histograms`: whether those are asked for."""

    def __init__(self, *, histograms: bool = False) -> None:
        self._by_node: dict[int, tuple[Part, list[Fetch], list[Fetch]]] = {}
        self._histograms = histograms

    def measure(self, node: int, tensor: Tensor) -> None:
        """Takes a tensor's norm and cosine, and its histogram."""
        alone = [(0, tensor.detach())]
        (part,) = parts_of([("act", 0, tensor.detach())])
        shares = histograms_of(alone) if self._histograms else []
        self._by_node[node] = part, [cosine for _, cosine in cosines_of(alone)], [one for _, one in shares]

    def give(self, row: PendingRow, sites: Sequence[Site]) -> None:
        """Gives a row what was measured at its sites, as of forward pass 1."""
        for at, site in enumerate(sites):
            if site.node in self._by_node:
                part, cosines, histograms = self._by_node[site.node]
                row.parts.append(Part(part.fetch, [("act", at, count) for _, _, count in part.targets], number=1))
                row.cosines += [(1, [at], cosine) for cosine in cosines]
                row.histograms += [(1, [at], shares) for shares in histograms]
