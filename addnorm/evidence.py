"""Evidence for findings about the loop and the graph: module calls, leftover gradients, frozen and equal matrices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from addnorm.format import OTHER
from addnorm.loss_form import LossForm, loss_form
from addnorm.probe import Probe, norms
from addnorm.rows import Fetch, PendingRow, dense
from addnorm.trace import Graph, tensors_in
from addnorm.weights import Weights, sample_of

NO_VERSION = -1
MAX_MARK_NUMBERS = 65_536  # of an input
UNMOVED_ROWS = 20  # after which matrices that no optimizer holds are compared with what they were


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
        self._outputs: list[Any] = []  # autograd's nodes of the latest forward pass's outputs
        self._inputs: set[int] = set()  # where the memory of its inputs begins
        self._has_own_loss = False  # its output has a single number
        self._form: LossForm | None = None  # of the `backward` that is under way
        self._unheld: list[Tensor] = []  # matrices that no optimizer given holds
        self._unheld_before: list[Tensor] = []
        self._rows = 0

    def begin(self, weights: Weights, calls: Sequence[int], *, unheld: Sequence[Tensor] = (), resumed: bool) -> None:
        """Begins a recording. `calls` counts, for each site, the calls of its module in the traced pass.

        `unheld` are the trained tensors that no given optimizer holds.
        """
        self._unheld = list(unheld)
        self._unheld_before = [sample_of(tensor).clone() for tensor in self._unheld]
        self._rows = 0
        self.graph = None
        self._weights = weights
        self._traced_calls = list(calls)
        self._fingerprints_due = not resumed

    def record_calls(self, row: PendingRow, probe: Probe) -> None:
        """Stores the calls of the sites' modules in a row if they differ from the traced pass."""
        if probe.listening and (calls := probe.calls()) != self._traced_calls:
            row.calls = calls

    def note_inputs(self, inputs: Iterable[Any]) -> None:
        """Remembers the inputs of a forward pass."""
        self._inputs = {value.data_ptr() for value in inputs if isinstance(value, Tensor)}

    def note_outputs(self, output: Any) -> None:
        """Remembers the outputs of a forward pass, so that a loss of nothing else is known; None for none."""
        tensors = [] if output is None else [tensor for tensor, _ in tensors_in(_content(output))]
        self._outputs = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
        self._has_own_loss = any(tensor.ndim == 0 for tensor in tensors)

    def note_loss(self, loss: Tensor) -> None:
        """Takes the form of the loss that `backward` is called on, while autograd's graph is whole.

        Where the model is given the labels and returns no loss, its output depends on them, as margins do.
        """
        form = loss_form(loss, self._outputs)
        target = form.target
        is_input = target is not None and not target.is_floating_point() and target.data_ptr() in self._inputs
        has_labels = is_input and not self._has_own_loss
        self._form = LossForm(of_probabilities=form.of_probabilities) if has_labels else form

    def add_loss(self, row: PendingRow) -> None:
        """Adds the form of the latest loss to a row, if its backward pass counts."""
        form = self._form
        self._form = None
        if form is None:
            return
        row.undivided += form.is_mean
        if not row.loss_form:
            row.loss_form = [form.kind, form.classes, int(form.of_probabilities)]
            if form.cross_entropy is not None:
                row.cross_entropy = Fetch(form.cross_entropy)
            if form.target is not None and form.target.numel():
                target = form.target.detach()
                row.target = Fetch(target.to(torch.float32).square().mean().sqrt())
        elif row.loss_form[0] != form.kind or row.loss_form[1] != form.classes:
            row.loss_form = [OTHER, 0, max(row.loss_form[2], int(form.of_probabilities))]

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
        if self._rows == UNMOVED_ROWS:
            for index, (tensor, before) in enumerate(zip(self._unheld, self._unheld_before, strict=True)):
                if tensor.grad is not None:
                    is_unmoved = (sample_of(tensor) == before).all() & dense(tensor.grad).any()
                    row.unmoved.append((index, Fetch(is_unmoved)))
            self._unheld = self._unheld_before = []
        self._rows += 1

    def end_step(self, *, skipped: bool) -> None:
        """Remembers the version of the earliest gradient, which zeroing would change, unless AMP skipped the update."""
        grad = self._earliest_gradient()
        self._version = NO_VERSION if grad is None or skipped else grad._version

    def _earliest_gradient(self) -> Tensor | None:
        """The gradient of the first matrix that updates change, which backward computes last."""
        return self._weights.earliest_gradient(self._expected) if self._weights is not None else None


def _content(output: Any) -> Any:
    """The tensors of an output that keeps them as attributes, or the output itself."""
    attributes = [getattr(output, name, None) for name in ("logits", "loss")]
    return attributes if isinstance(attributes[0], Tensor) else output


def input_mark(inputs: Iterable[Any]) -> Fetch | None:
    """The mean of a pass's only input, weighted by position, which tells inputs apart; None for several inputs."""
    tensors = [value for value in inputs if isinstance(value, Tensor)]
    if len(tensors) != 1 or tensors[0].is_complex() or tensors[0].layout is not torch.strided or not tensors[0].numel():
        return None
    flat = tensors[0].detach().flatten()[:MAX_MARK_NUMBERS].float()
    return Fetch(flat @ torch.linspace(1, 2, len(flat), device=flat.device) / len(flat))
