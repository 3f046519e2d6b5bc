"""Evidence for findings about the loop and the graph: module calls, leftover gradients, frozen and equal matrices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor

from addnorm.probe import Probe, norms
from addnorm.rows import Fetch, PendingRow, dense
from addnorm.trace import Graph
from addnorm.weights import Weights

NO_VERSION = -1


class Evidence:
    """Collects evidence for the rows of a recording. `graph` is that of the traced pass, None if tracing failed."""

    def __init__(self) -> None:
        self.graph: Graph | None = None
        self._weights: Weights | None = None
        self._updated: Iterable[Tensor] = ()  # the tensors that updates change
        self._expected: frozenset[int] = frozenset()  # those of them that are matrices
        self._traced_calls: list[int] = []  # for each site, the calls of its module in the traced pass
        self._fingerprints_due = True  # matrices are compared once, in the first row of a new recording
        self._version = NO_VERSION  # torch's version of the earliest matrix's gradient at the last update

    def begin(self, weights: Weights, calls: Sequence[int], *, resumed: bool) -> None:
        """Begins a recording. `calls` counts, for each site, the calls of its module in the traced pass."""
        self.graph = None
        self._weights = weights
        self._traced_calls = list(calls)
        self._fingerprints_due = not resumed

    def record_calls(self, row: PendingRow, probe: Probe) -> None:
        """Stores the calls of the sites' modules in a row if they differ from the traced pass."""
        if probe.listening and (calls := probe.calls()) != self._traced_calls:
            row.calls = calls

    def measure_leftover_gradient(self, row: PendingRow) -> None:
        """Measures the gradient that the previous step left behind. Call it when the first pass adds to gradients."""
        version = self._version
        self._version = NO_VERSION
        grad = self._earliest_gradient()
        if version != NO_VERSION and grad is not None and grad._version == version:
            row.leftover = Fetch(norms([dense(grad.detach())]))
            row.leftover_size = max(1, grad.numel())

    def fill_row(self, row: PendingRow, updated: Iterable[Tensor], *, has_gradient: bool) -> None:
        """Adds the state of the matrices before the update to a row.

        These are their blocks, which of them expect a gradient, frozen ones that receive one and, in the first row, the
        fingerprints that reveal equal matrices. `updated` are the tensors that the update changes. `has_gradient` says
        that a pass has added to the gradient of one of them: where none is left, it was used before it was measured.
        """
        if self._weights is None:
            return
        row.block_of = self._weights.block_of
        if updated is not self._updated:
            self._updated = updated
            self._expected = self._weights.indices_of(updated)
        is_measured = not has_gradient or self._weights.has_gradient(self._expected)
        row.expected = self._expected if is_measured else ()
        row.thawed = self._weights.thawed()
        if self._fingerprints_due:
            row.fingerprints = self._weights.fingerprints()
            row.first_equal = self._weights.first_equal
        self._fingerprints_due = False

    def end_step(self, *, skipped: bool) -> None:
        """Remembers the version of the earliest gradient, which zeroing would change, unless AMP skipped the update."""
        grad = self._earliest_gradient()
        self._version = NO_VERSION if grad is None or skipped else grad._version

    def _earliest_gradient(self) -> Tensor | None:
        """The gradient of the first matrix that updates change, which backward computes last."""
        return self._weights.earliest_gradient(self._expected) if self._weights is not None else None
