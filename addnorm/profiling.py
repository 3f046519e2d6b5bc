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
from addnorm.compiled import core, eagerly
from addnorm.first import FirstPass
from addnorm.header import header
from addnorm.model import bare, left_as_it_was, refused
from addnorm.recording import Reader, Recording, as_line, headed
from addnorm.rows import Fetch, PendingRow, parts_of
from addnorm.shown import Shown
from addnorm.sites import Sites, find_sites, noted, offered, outputs_of
from addnorm.trace import Graph, Node, Tracer, floating, output_of, tensors_in
from addnorm.weights import Weights
from addnorm.words import lost_at

OFF = "profile measures gradients, which are switched off here: call it outside of no_grad and inference_mode."
LAZY = "This model has parameters without a shape yet: call it once on a batch before."
CHECKPOINTED = "Inside reentrant checkpoints no gradients were measured; use_reentrant=False shows them."
ROUNDING = 2.0**-16  # of a gradient: what is left of less behind a site of the same size lies within float32's rounding
ROUNDED = "The gradient lies within rounding before {} and is left out there: this loss hardly depends on that."
PROJECTED = "No loss was given: the gradient is that of a fixed random projection of the output."
OUTPUT = -1  # the model's answer, among the nodes
REENTRANT = "CheckpointFunctionBackward"  # torch.autograd.grad refuses it


@dataclass(frozen=True)
class Profile(Shown):
    """One pass of a model, as a recording of one row. `cause`: what made the first number that is not finite."""

    recording: Recording
    cause: str = ""

    def so_far(self) -> Recording:
        """The recording of one row."""
        return self.recording

    @property
    def sites(self) -> list[str]:
        """The names of the sites, in order of depth."""
        return [site.name for site in self.recording.sites]

    @property
    def signal(self) -> list[float]:
        """By site, root mean square of the activation; NaN where it was not measured."""
        return list(self.recording.row("act_rms", 0))

    @property
    def gradient(self) -> list[float]:
        """By site, root mean square of the gradient of the loss; NaN where there is none."""
        return list(self.recording.row("grad_rms", 0))

    @property
    def loss(self) -> float:
        """The loss of the batch; NaN where none was given."""
        return self.recording.scalars["loss"][0]

    @property
    def verdict(self) -> str:
        """What signal and gradient do over depth, in a sentence."""
        return self.recording.sentence("verdict", 0)

    @property
    def law(self) -> str:
        """The law by which the signal grows, in a sentence; empty where there are too few sites."""
        return self.recording.sentence("law", 0)

    def __repr__(self) -> str:
        return f"<Profile of {self.recording.header['model']}, {len(self.sites)} sites>"


def profile(model: nn.Module, batch: Any, loss: Callable[..., Tensor] | None = None) -> Profile:
    """Measures signal and gradient of a model at every site on one batch, without training and without a file.

    The model is called with `batch`: a tensor, a tuple of arguments or a mapping of them by name. `loss` is called with
    the model's output; where the batch is a tuple, also with its last element, which the model then does not get.
    Without it the loss is the one in the model's output, else a fixed random projection of the output. Weights,
    gradients, buffers, mode and random state are as before. RuntimeError where gradients are switched off, ValueError
    for a model that cannot be measured or a loss that is not one number.
    """
    if not torch.is_grad_enabled() or torch.is_inference_mode_enabled():
        raise RuntimeError(OFF)
    if refusal := refused(model):
        raise ValueError(refusal)
    model = core(bare(model))
    if any(isinstance(p, nn.parameter.UninitializedParameter) for p in model.parameters()):
        raise ValueError(LAZY)
    with left_as_it_was(model), _gradients(model), _unwatched(model), eagerly():
        return _measured(model, batch, loss)


def loss_on(model: nn.Module, batch: Any, loss: Callable[..., Tensor] | None) -> Tensor:
    """The loss of a batch, as `profile` computes it."""
    arguments, target = _split(batch, loss)
    output = model(**arguments) if isinstance(arguments, Mapping) else model(*arguments)
    return _loss_of(output, loss, target)[0]


class Finder(Tracer):
    """A tracer that also notes which operation first made a number that is not finite, forward and backward."""

    def __init__(self, model: nn.Module, measure: Callable[[int, Tensor], None]) -> None:
        super().__init__(model, measure)
        self.forward = self.infinite = self.backward = ""
        self.place = "the model"  # where what runs in no module runs
        self.undo: list[Any] = []
        self._places: dict[int, str] = {}  # the operation and where it ran, by the node that it made

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = super().__torch_function__(func, types, args, kwargs)
        if not self._measuring:
            with suppress(RuntimeError, TypeError):  # of a tensor without numbers of its own
                self._look(getattr(func, "__name__", ""), (*args, *(kwargs or {}).values()), out)
        return out

    def _look(self, op: str, given: Sequence[Any], out: Any) -> None:
        for tensor in [one for one, _ in tensors_in(out) if floating(one)]:
            node = self._node_of.get(tensor)
            if node is not None:
                self._places[node.at] = f"{op.strip('_')} in {self._open[-1] or self.place}"
            if not self.forward and not _finite(tensor):
                said = self._given(given) or f"made by {op.strip('_')} in {self._open[-1] or self.place}"
                if not _finite(tensor.detach().clamp(min=0)):
                    self.forward = said
                elif all(_finite(one) for one, _ in tensors_in(given, deep=2) if floating(one)):
                    self.infinite = said  # minus infinity alone is often a mask: the last one counts
            if tensor.requires_grad and node is not None:
                self.undo.append(tensor.register_hook(self._hook(node)))

    def _given(self, given: Sequence[Any]) -> str:
        """What an operation was given that was not finite before the pass."""
        for tensor, _ in tensors_in(given, deep=2):
            if floating(tensor) and tensor not in self._node_of and not _finite(tensor):
                name = self._names.get(id(tensor))
                return f"the parameter {name}" if name else "in the batch or in a buffer"
        return ""

    def _hook(self, node: Node) -> Callable[[Tensor], None]:
        def look(grad: Tensor) -> None:
            if not self.backward and not _finite(grad):
                made = [self._places.get(child.at, child.op) for child in node.children]
                self.backward = f"made on the way back through {' or '.join(dict.fromkeys(made)) or 'the loss'}"

        return look

    def cause(self, lost: str) -> str:
        """What made the first number that is not finite, in a sentence. `lost`: what is so first in the row."""
        if lost in ("signal", "model's output", "loss") and (made := self.forward or self.infinite):
            return f"The first tensor that is not finite is {made}."
        return f"The first gradient that is not finite is {self.backward}." if lost and self.backward else ""


def _finite(tensor: Tensor) -> bool:
    return bool(tensor.detach().isfinite().all())  # detached, so that no checkpoint counts it


def _measured(model: nn.Module, batch: Any, loss: Callable[..., Tensor] | None) -> Profile:
    first, received = FirstPass(), dict[int, Tensor]()

    def measure(node: int, tensor: Tensor) -> None:
        first.measure(node, tensor)
        if tensor.requires_grad:
            finder.undo.append(tensor.register_hook(lambda grad: received.__setitem__(node, grad.detach())))

    finder, notes = Finder(model, measure), []
    try:
        with finder:
            arguments, target = _split(batch, loss)
            output = model(**arguments) if isinstance(arguments, Mapping) else model(*arguments)
            finder.place = "the loss"
            found, note = _loss_of(output, loss, target)
            notes += [note] if note else []
        answer = output_of(output)
        if answer is not None and answer.requires_grad:
            finder.undo.append(answer.register_hook(lambda grad: received.__setitem__(OUTPUT, grad.detach())))
        received.clear()  # a model may have asked for gradients of its own in the pass
        notes += [CHECKPOINTED] if _backward(model, found) else []
    finally:
        for handle in finder.undo:
            handle.remove()
    sites = _sites_of(finder, model)
    blocks = blocks_of(finder.graph, sites, model) if finder.failure is None else blocks_by_name(model)
    row = PendingRow(0, losses=[] if PROJECTED in notes else [Fetch(found.detach())])
    first.give(row, sites)
    measured = [(at, received[site.node]) for at, site in enumerate(sites) if site.node in received]
    measured, said = _told_from_rounding(measured, received.get(OUTPUT), row, sites)
    notes += said
    row.parts += parts_of([("grad", at, grad) for at, grad in measured])
    weights = Weights(model, blocks)
    row.parts += weights.gradients()
    row.block_of, row.expected = weights.block_of, frozenset(range(len(weights.matrices)))
    row.prints, row.equals = weights.prints(), weights.first_equals
    if answer is not None:
        row.parts += parts_of([("output", 0, answer.detach())])
    now = datetime.now(timezone.utc)
    graph = finder.graph if finder.failure is None else None
    names = weights.matrices
    head = header(model, None, created=now, every=1, sites=sites, blocks=blocks, meta={}, matrices=names, graph=graph)
    end = {"end": "done", "reason": "", "rows": 1, "dropped": 0}
    line = row.line(head)
    lost = lost_at(headed(head).alone(line), 0)
    cause = finder.cause(lost[0]) if lost else ""
    head["notes"] += [*notes, *([cause] if cause else [])]
    return Profile(Reader().feed(b"".join(map(as_line, (head, line, end)))), cause)


def _told_from_rounding(
    measured: list[tuple[int, Tensor]], output: Tensor | None, row: PendingRow, sites: Sites
) -> tuple[list[tuple[int, Tensor]], list[str]]:
    """The gradients as far back as they are more than rounding, and a sentence where they are not all.

    What a map leaves of a gradient is as small as what it makes of the signal. Much less is a sum that cancels: that of
    the mean square of a norm's output, say.
    """
    acts = {at: math.sqrt(square) for (name, at), square in row.sums()[0].items() if name == "act"}
    after = output.double().norm().item() if output is not None else math.nan
    size, name = math.nan, "the model's output"
    for place in range(len(measured) - 1, -1, -1):
        at, grad = measured[place]
        norm = grad.double().norm().item()
        shrinks = min(1.0, size / acts[at]) if acts.get(at) and math.isfinite(size) else 1.0
        if 0 < norm < ROUNDING * shrinks * after:
            return measured[place + 1 :], [ROUNDED.format(name)]
        after, size, name = norm, acts.get(at, math.nan), sites[at].name
    return measured, []


def _split(batch: Any, loss: Callable[..., Tensor] | None) -> tuple[Any, tuple[Any, ...]]:
    """What the model gets, and what the loss gets besides the output."""
    if isinstance(batch, Mapping):
        return batch, ()
    if not isinstance(batch, tuple | list):
        return (batch,), ()
    return (batch[:-1], (batch[-1],)) if loss is not None else (batch, ())


def _loss_of(output: Any, loss: Callable[..., Tensor] | None, target: tuple[Any, ...]) -> tuple[Tensor, str]:
    """The loss of an output, and a sentence where it had to be made up. ValueError where it is not one number."""
    note = ""
    if loss is not None:
        found = loss(output, *target)
    else:
        own = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
        if isinstance(own, Tensor):
            found = own
        else:
            answer = output_of(output)
            if answer is None:
                raise ValueError("The model's output is no tensor of numbers: give profile a loss.")
            found, note = _projection(answer), PROJECTED
    if not isinstance(found, Tensor) or found.numel() != 1:
        raise ValueError("The loss is not one number.")
    if not found.requires_grad:
        note = "The loss depends on nothing that is trained, so there are no gradients."
    return found.reshape(()), note


def _projection(answer: Tensor) -> Tensor:
    """The mean of an output's numbers, each times a normal one that is the same in every call.

    A mean or mean square would be constant behind a norm, and its gradient rounding.
    """
    real = torch.view_as_real(answer) if answer.is_complex() else answer
    weights = torch.randn(real.shape, generator=torch.Generator().manual_seed(0))
    return (real * weights.to(real)).mean()


def _sites_of(finder: Finder, model: nn.Module) -> Sites:
    graph: Graph = finder.graph
    lost = [f"The forward pass could not be traced: {finder.failure}"] if finder.failure is not None else []
    lost += ["The forward pass makes too many tensors to trace them all."] if graph.too_large else []
    if not lost and (sites := find_sites(graph, model)):
        return sites
    return noted(outputs_of(graph, offered(model), model), lost or ["No residual additions were found."])


def _backward(model: nn.Module, loss: Tensor) -> bool:
    """Computes the gradients of all parameters, without the hooks that follow an accumulated one where that can be.

    Returns whether parts were computed again in the old way of checkpoints.
    """
    if not loss.requires_grad:
        return False
    trained = [p for p in model.parameters() if p.requires_grad]
    if any(node.name() == REENTRANT for node in _nodes(loss)):
        if any(getattr(p, "_post_accumulate_grad_hooks", None) for p in trained):
            raise ValueError("A reentrant checkpoint would call the hooks that update this model's weights.")
        loss.backward()
        return True
    for p, grad in zip(trained, torch.autograd.grad(loss, trained, allow_unused=True), strict=True):
        p.grad = grad
    return False


def _nodes(loss: Tensor) -> Iterator[Any]:
    """The nodes of autograd's graph."""
    waiting, known = [loss.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in known:
            continue
        known.add(node)
        yield node
        waiting += [one for one, _ in node.next_functions]


# --- what a pass changes, and is put back ---


@contextmanager
def _gradients(model: nn.Module) -> Iterator[None]:
    gradients = [(p, p.grad) for p in model.parameters()]
    for p, _ in gradients:
        p.grad = None
    try:
        yield
    finally:
        for p, grad in gradients:
            p.grad = grad


@contextmanager
def _unwatched(model: nn.Module) -> Iterator[None]:
    """A recording of the model does not notice."""
    from addnorm.recorder import _watched

    recorder = _watched.get(model)
    with nullcontext() if recorder is None else recorder.pause():
        yield
