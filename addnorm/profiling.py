"""`profile` measures one forward and one backward pass of a model, and leaves the model as it was."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import torch
from torch import Tensor, nn

from addnorm.blocks import blocks_by_name, blocks_of
from addnorm.compiled import force_eager, unwrap_compiled
from addnorm.display import Display
from addnorm.first_pass import FirstPass
from addnorm.header import build_header
from addnorm.model import preserve_state, unsupported_reason, unwrap_ddp
from addnorm.recording import Reader, Recording, encode_line, recording_from_header
from addnorm.rows import Fetch, PendingRow, parts_of
from addnorm.sites import READ_OVER_DEPTH, Sites, fallback_modules, find_sites, output_sites, sites_with_notes
from addnorm.stream import reads_over_depth
from addnorm.trace import Node, Tracer, is_numeric, output_of, tensors_in
from addnorm.weights import Weights
from addnorm.words import first_non_finite

GRADIENTS_OFF = (
    "profile measures gradients, which are switched off here: call it outside of no_grad and inference_mode."
)
LAZY = "This model has parameters without a shape yet: call it once on a batch before."
CHECKPOINTED = "Inside reentrant checkpoints no gradients were measured; use_reentrant=False shows them."
PROJECTED = "No loss was given: the gradient is that of a fixed random projection of the output."
CONSTANT_LOSS = "The loss depends on nothing that is trained, so there are no gradients."
ROUNDED = "Before {} the gradient is no larger than rounding errors and is left out: the loss hardly depends on it."
ROUNDING = 2.0**-16  # a gradient below this share of the next site's is nothing but float32's rounding
OUTPUT = -1  # key of the model's output among the nodes
REENTRANT = "CheckpointFunctionBackward"  # name of an autograd node that torch.autograd.grad refuses

Loss = Callable[..., Tensor]


@dataclass(frozen=True)
class Profile(Display):
    """One pass of a model, as a recording of one row. `cause`: a sentence on its first non-finite number."""

    recording: Recording
    cause: str = ""

    def snapshot(self) -> Recording:
        return self.recording

    @property
    def sites(self) -> list[str]:
        """The names of the sites, in order of depth."""
        return [site.name for site in self.recording.sites]

    @property
    def signal(self) -> list[float]:
        """Root mean square of the activation by site, shape (sites,); NaN where it was not measured."""
        return list(self.recording.row("act_rms", 0))

    @property
    def gradient(self) -> list[float]:
        """Root mean square of the loss's gradient by site, shape (sites,); NaN where there is none."""
        return list(self.recording.row("grad_rms", 0))

    @property
    def loss(self) -> float:
        """The loss of the batch; NaN without a loss."""
        return self.recording.scalars["loss"][0]

    @property
    def verdict(self) -> str:
        """A sentence on signal and gradient over depth."""
        return self.recording.sentence("verdict", 0)

    @property
    def law(self) -> str:
        """A sentence on the law by which the signal grows; empty if there are too few sites."""
        return self.recording.sentence("law", 0)

    def __repr__(self) -> str:
        return f"<Profile of {self.recording.header['model']}, {len(self.sites)} sites>"


def profile(model: nn.Module, batch: Any, loss: Loss | None = None) -> Profile:
    """Measures signal and gradient of a model at every site on one batch, without training and without a file.

    `batch`: a tensor, a tuple of arguments or a mapping of them by name, with which the model is called. `loss` is
    called with the model's output; of a tuple, the last element goes to `loss` instead of the model. Without `loss`,
    the loss in the model's output counts, else a fixed random projection of the output. Weights, gradients, buffers,
    mode and random state are restored. Raises RuntimeError if gradients are switched off, ValueError for a model that
    cannot be measured or a loss that is not one number.
    """
    if not torch.is_grad_enabled() or torch.is_inference_mode_enabled():
        raise RuntimeError(GRADIENTS_OFF)
    if reason := unsupported_reason(model):
        raise ValueError(reason)
    model = unwrap_compiled(unwrap_ddp(model))
    if any(isinstance(p, nn.parameter.UninitializedParameter) for p in model.parameters()):
        raise ValueError(LAZY)
    with preserve_state(model), _preserve_gradients(model), _pause_recording(model), force_eager():
        return _profile_of(model, _run_pass(model, batch, loss))


def loss_on(model: nn.Module, batch: Any, loss: Loss | None) -> Tensor:
    """The loss of a batch, as `profile` computes it."""
    output, targets = _call_model(model, batch, loss)
    return _loss_of(output, loss, targets)[0]


class NonFiniteTracer(Tracer):
    """A tracer that also finds the operations that first made a non-finite number, forward and backward.

    `infinite` is the last operation whose only non-finite numbers are minus infinities: these are often a mask.
    """

    def __init__(self, model: nn.Module, measure: Callable[[int, Tensor], None]) -> None:
        super().__init__(model, measure)
        self.forward = self.infinite = self.backward = ""
        self.default_module = "the model"  # for operations outside any module
        self.undo: list[Any] = []  # handles of hooks
        self._operations: dict[int, str] = {}  # with their modules, by node

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = super().__torch_function__(func, types, args, kwargs)
        if not self._is_measuring:
            with suppress(RuntimeError, TypeError):  # raised by a tensor without numbers of its own
                self._check_finite(getattr(func, "__name__", ""), (*args, *(kwargs or {}).values()), out)
        return out

    def _check_finite(self, op: str, inputs: Sequence[Any], out: Any) -> None:
        operation = f"{op.strip('_')} in {self._module_stack[-1] or self.default_module}"
        for tensor in [tensor for tensor, _ in tensors_in(out) if is_numeric(tensor)]:
            node = self._node_of.get(tensor)
            if node is not None:
                self._operations[node.index] = operation
            if not self.forward and not _is_finite(tensor):
                origin = self._non_finite_input(inputs) or f"made by {operation}"
                if not _is_finite(tensor.detach().clamp(min=0)):
                    self.forward = origin
                elif all(_is_finite(item) for item, _ in tensors_in(inputs, depth=2) if is_numeric(item)):
                    self.infinite = origin
            if tensor.requires_grad and node is not None:
                self.undo.append(tensor.register_hook(self._gradient_hook(node)))

    def _non_finite_input(self, inputs: Sequence[Any]) -> str:
        """The first input that was not finite before the pass, in words."""
        for tensor, _ in tensors_in(inputs, depth=2):
            if is_numeric(tensor) and tensor not in self._node_of and not _is_finite(tensor):
                name = self._names.get(id(tensor))
                return f"the parameter {name}" if name else "in the batch or in a buffer"
        return ""

    def _gradient_hook(self, node: Node) -> Callable[[Tensor], None]:
        def check(grad: Tensor) -> None:
            if not self.backward and not _is_finite(grad):
                operations = dict.fromkeys(self._operations.get(child.index, child.op) for child in node.children)
                self.backward = f"made on the way back through {' or '.join(operations) or 'the loss'}"

        return check

    def cause(self, quantity: str) -> str:
        """A sentence on the origin of the first non-finite number; empty if it is unknown.

        `quantity` names the first non-finite quantity of the row.
        """
        origin = self.forward or self.infinite
        if quantity in ("signal", "model's output", "loss") and origin:
            return f"The first tensor that is not finite is {origin}."
        if quantity and self.backward:
            return f"The first gradient that is not finite is {self.backward}."
        return ""


def _is_finite(tensor: Tensor) -> bool:
    return bool(tensor.detach().isfinite().all())  # detached, so that no checkpoint counts it


@dataclass(frozen=True)
class _Pass:
    """A forward and a backward pass. `gradients`: by node of the graph; that of the model's output under OUTPUT."""

    tracer: NonFiniteTracer
    measurements: FirstPass
    gradients: dict[int, Tensor]
    loss: Tensor
    output: Tensor | None
    notes: list[str]


def _run_pass(model: nn.Module, batch: Any, loss: Loss | None) -> _Pass:
    measurements = FirstPass()
    gradients: dict[int, Tensor] = {}
    notes: list[str] = []

    def measure(node: int, tensor: Tensor) -> None:
        measurements.measure(node, tensor)
        collect_gradient(node, tensor)

    def collect_gradient(node: int, tensor: Tensor) -> None:
        def store(grad: Tensor) -> None:
            gradients[node] = grad.detach()

        if tensor.requires_grad:
            tracer.undo.append(tensor.register_hook(store))

    tracer = NonFiniteTracer(model, measure)
    try:
        with tracer:
            raw_output, targets = _call_model(model, batch, loss)
            tracer.default_module = "the loss"
            loss_value, note = _loss_of(raw_output, loss, targets)
        if note:
            notes.append(note)
        output = output_of(raw_output)
        if output is not None:
            collect_gradient(OUTPUT, output)
        gradients.clear()  # the model may have computed gradients of its own in the pass
        if _backward(model, loss_value):
            notes.append(CHECKPOINTED)
    finally:
        for handle in tracer.undo:
            handle.remove()
    return _Pass(tracer, measurements, gradients, loss_value, output, notes)


def _profile_of(model: nn.Module, run: _Pass) -> Profile:
    tracer = run.tracer
    sites = _sites_of(tracer, model)
    blocks = blocks_of(tracer.graph, sites, model) if tracer.failure is None else blocks_by_name(model)
    weights = Weights(model, blocks)
    row = PendingRow(0, losses=[] if PROJECTED in run.notes else [Fetch(run.loss.detach())])
    run.measurements.fill_row(row, sites)
    gradients = [(index, run.gradients[site.node]) for index, site in enumerate(sites) if site.node in run.gradients]
    gradients, rounding_notes = _without_rounding(gradients, run.gradients.get(OUTPUT), row, sites)
    row.parts += parts_of([("grad", index, grad) for index, grad in gradients])
    row.parts += weights.gradients()
    row.block_of = weights.block_of
    row.expected = frozenset(range(len(weights.matrices)))
    row.fingerprints = weights.fingerprints()
    row.first_equal = weights.first_equal
    if run.output is not None:
        row.parts += parts_of([("output", 0, run.output.detach())])
    head = build_header(
        model,
        (),
        created=datetime.now(timezone.utc),
        every=1,
        sites=sites,
        blocks=blocks,
        meta={},
        matrices=weights.matrices,
        frozen=weights.frozen,
        graph=tracer.graph if tracer.failure is None else None,
    )
    line = row.line(head)
    non_finite = first_non_finite(recording_from_header(head).single_row(line), 0)
    cause = tracer.cause(non_finite.quantity) if non_finite else ""
    head["notes"] += [*run.notes, *rounding_notes, *([cause] if cause else [])]
    end = {"end": "done", "reason": "", "rows": 1, "dropped": 0}
    return Profile(Reader().feed(b"".join(map(encode_line, (head, line, end)))), cause)


def _without_rounding(
    gradients: list[tuple[int, Tensor]], output_gradient: Tensor | None, row: PendingRow, sites: Sites
) -> tuple[list[tuple[int, Tensor]], list[str]]:
    """The gradients by site without those that lie within rounding, and a note if any were left out.

    A layer shrinks the gradient about as much as the signal. A gradient that is much smaller is a sum that cancels, as
    for the mean square of a norm's output.
    """
    signals = {index: math.sqrt(total.square) for (name, index), total in row.sums().items() if name == "act"}
    later_norm = output_gradient.double().norm().item() if output_gradient is not None else math.nan
    later_signal, later_name = math.nan, "the model's output"
    for position in range(len(gradients) - 1, -1, -1):
        site, grad = gradients[position]
        norm = grad.double().norm().item()
        signal = signals.get(site)
        shrinkage = min(1.0, later_signal / signal) if signal and math.isfinite(later_signal) else 1.0
        if 0 < norm < ROUNDING * shrinkage * later_norm:
            return gradients[position + 1 :], [ROUNDED.format(later_name)]
        later_norm = norm
        later_signal, later_name = signals.get(site, math.nan), sites[site].name
    return gradients, []


def _call_model(model: nn.Module, batch: Any, loss: Loss | None) -> tuple[Any, tuple[Any, ...]]:
    """The model's output, and the arguments of the loss after the output."""
    if isinstance(batch, Mapping):
        return model(**batch), ()
    if not isinstance(batch, tuple | list):
        return model(batch), ()
    if loss is None:
        return model(*batch), ()
    return model(*batch[:-1]), (batch[-1],)


def _loss_of(output: Any, loss: Loss | None, targets: tuple[Any, ...]) -> tuple[Tensor, str]:
    """The loss of an output as a scalar, and a note if it is a projection or constant. Raises ValueError for others."""
    note = ""
    if loss is not None:
        value: Any = loss(output, *targets)
    else:
        value = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
        if not isinstance(value, Tensor):
            tensor = output_of(output)
            if tensor is None:
                raise ValueError("The model's output is not a tensor of numbers: give profile a loss.")
            value, note = _projection(tensor), PROJECTED
    if not isinstance(value, Tensor) or value.numel() != 1:
        raise ValueError("The loss is not one number.")
    if not value.requires_grad:
        note = CONSTANT_LOSS
    return value.reshape(()), note


def _projection(output: Tensor) -> Tensor:
    """The mean of an output times normal numbers, which are the same in every call.

    A plain mean or mean square would be constant behind a norm, and its gradient nothing but rounding.
    """
    real = torch.view_as_real(output) if output.is_complex() else output
    weights = torch.randn(real.shape, generator=torch.Generator().manual_seed(0))
    return (real * weights.to(real)).mean()


def _sites_of(tracer: NonFiniteTracer, model: nn.Module) -> Sites:
    graph = tracer.graph
    notes = []
    if tracer.failure is not None:
        notes.append(f"The forward pass could not be traced: {tracer.failure}")
    if graph.too_large:
        notes.append("The forward pass makes too many tensors to trace them all.")
    if not notes and (sites := find_sites(graph, model)):
        return sites
    fallback = output_sites(graph, fallback_modules(model), model)
    return sites_with_notes(
        fallback, notes or [READ_OVER_DEPTH if reads_over_depth(graph) else "No residual additions were found."]
    )


def _backward(model: nn.Module, loss: Tensor) -> bool:
    """Computes the gradients of all parameters, without post-accumulate hooks if possible.

    Returns whether a reentrant checkpoint computed parts again.
    """
    if not loss.requires_grad:
        return False
    trained = [p for p in model.parameters() if p.requires_grad]
    if any(node.name() == REENTRANT for node in _autograd_nodes(loss)):
        if any(getattr(p, "_post_accumulate_grad_hooks", None) for p in trained):
            raise ValueError("A reentrant checkpoint would call the hooks that update this model's weights.")
        loss.backward()
        return True
    for p, grad in zip(trained, torch.autograd.grad(loss, trained, allow_unused=True), strict=True):
        p.grad = grad
    return False


def _autograd_nodes(loss: Tensor) -> Iterator[Any]:
    waiting, visited = [loss.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in visited:
            continue
        visited.add(node)
        yield node
        waiting += [parent for parent, _ in node.next_functions]


# --- restored after the pass ---


@contextmanager
def _preserve_gradients(model: nn.Module) -> Iterator[None]:
    gradients = [(p, p.grad) for p in model.parameters()]
    for p, _ in gradients:
        p.grad = None
    try:
        yield
    finally:
        for p, grad in gradients:
            p.grad = grad


@contextmanager
def _pause_recording(model: nn.Module) -> Iterator[None]:
    from addnorm.recorder import _watched

    recorder = _watched.get(model)
    with nullcontext() if recorder is None else recorder.pause():
        yield
