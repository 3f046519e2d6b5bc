"""Evidence for findings about the loop and the graph: calls, leftover gradients, frozen and equal matrices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor

from addnorm.probe import Probe, norms
from addnorm.rows import Fetch, PendingRow, dense
from addnorm.trace import Graph
from addnorm.weights import Weights


class Evidence:
    """Looks at weights and their gradients beside what is measured of them. `graph`: of the traced pass."""

    def __init__(self) -> None:
        self.graph: Graph | None = None
        self._weights: Weights | None = None
        self._expected: frozenset[int] = frozenset()  # matrices to which a gradient should come
        self._traced_calls: list[int] = []  # by site, how often its module is called in a pass
        self._to_compare = True  # whether matrices are still to be compared
        self._version = -1  # of the gradient of the first matrix at the last update

    def begin(self, weights: Weights, updated: Iterable[Tensor], calls: Sequence[int], *, resumed: bool) -> None:
        """Begins a recording. `updated`: what updates change; `calls`: by site, of its module in the traced pass."""
        self.graph, self._weights, self._traced_calls = None, weights, list(calls)
        self._expected, self._to_compare = weights.updated_by(updated), not resumed

    def hear_pass(self, row: PendingRow, probe: Probe) -> None:
        """A forward pass has ended."""
        if probe.listening and (calls := probe.calls()) != self._traced_calls:
            row.calls = calls

    def hear_backward(self, row: PendingRow) -> None:
        """At the start of a backward pass that counts: measures a gradient that is still there from the step before."""
        version, self._version = self._version, -1
        grad = self._weights.earliest if self._weights is not None else None
        if version >= 0 and grad is not None and grad._version == version:
            row.left, row.left_count = Fetch(norms([dense(grad.detach())])), max(1, grad.numel())

    def give(self, row: PendingRow) -> None:
        """Writes into a row, before the update: the block of each matrix, those that should get a gradient, frozen ones
        that get one and, in the first row of a new recording, sums that reveal equal matrices.
        """
        if self._weights is not None:
            row.block_of, row.expected = self._weights.block_of, self._expected
            row.thawed = self._weights.thawed()
            if self._to_compare:
                row.prints, row.equals = self._weights.prints(), self._weights.first_equals
            self._to_compare = False

    def close(self, *, skipped: bool) -> None:
        """Remembers the version of the first matrix's gradient, by which the next backward pass sees that it was not
        zeroed; nothing after a skipped update.
        """
        grad = self._weights.earliest if self._weights is not None else None
        self._version = -1 if grad is None or skipped else grad._version
