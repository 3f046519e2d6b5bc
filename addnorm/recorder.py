"""`watch` records the residual stream of any model while it trains, and never stops the training."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, get_args
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from addnorm.alarms import FACTOR, Alarm, Alarms
from addnorm.amp import listen, scale_of, unscaled
from addnorm.blocks import Block, blocks_by_name, blocks_of
from addnorm.compiled import EAGER, around, compiled_parts, core, eagerly, outside, wrapper_of
from addnorm.copies import left_out_of_copies
from addnorm.cosine import cosines_of
from addnorm.detail import Heads
from addnorm.evidence import Evidence
from addnorm.first import FirstPass
from addnorm.format import BINS, VERSION
from addnorm.header import header
from addnorm.histogram import histograms_of
from addnorm.live import Live
from addnorm.model import bare, left_as_it_was, refused
from addnorm.operation import LastPass
from addnorm.passes import BackwardPasses
from addnorm.probe import Hook, Probe
from addnorm.recording import Recording, headed, read, told_line
from addnorm.rows import Fetch, Part, PendingRow, Rows, parts_of
from addnorm.rules import Diagnostic, unknown_rules, worst_first
from addnorm.said import Teller
from addnorm.shown import Shown
from addnorm.sinks import Sinks
from addnorm.sites import (
    Sites,
    as_written_in_words,
    chosen_modules,
    find_sites,
    hidden_in_words,
    noted,
    offered,
    outputs_of,
)
from addnorm.trace import Graph, Tracer, floating, output_of
from addnorm.weights import Samples, Weights, changes
from addnorm.writer import Writer

Detail = Literal["", "heads", "histograms"]
Shared = Literal["all", "some", "none"]
Wanted = Literal["auto"] | str | Iterable[str] | Mapping[str, nn.Module]

SELDOM = 64  # rows between two with updates and cosines, after the first ones
LONGEST = 500  # characters kept of an error

_watched: WeakKeyDictionary[nn.Module, Recorder] = WeakKeyDictionary()


def watch(
    model: nn.Module,
    path: str | os.PathLike[str] | None = None,
    *,
    optimizer: torch.optim.Optimizer | None = None,
    scaler: Any = None,
    every: int = 1,
    sites: Wanted = "auto",
    meta: Mapping[str, Any] | None = None,
    to: Iterable[Any] = (),
    resume: bool | int = False,
    detail: Detail = "",
    eager: bool = True,
    ignore: Iterable[str] = (),
) -> Recorder:
    """Records signal and gradient along the residual stream of `model` to a file that can be read while it grows.

    Every update of `optimizer` closes a row, before the weights change; without an optimiser, `recorder.step()` does.
    `scaler`: AMP's, whose scale is divided out. `every`: steps to a row. `sites`: "auto", globs of module names, or
    modules by the names that they are to have. `meta`: kept in the header, as JSON. `to`: TensorBoard's `SummaryWriter`
    or a run of Weights & Biases or Trackio, told a few numbers of each row, beside a file or without one.

    `resume`: goes on with the file of that name after its last row, or at a step, whose row and later ones are dropped.
    `detail`: "heads" adds the size of each attention head's output and the gradient of each parameter, "histograms" the
    distribution of each site's values, in the rows that have updates. `eager`: where torch.compile hides sites, the
    model runs as it is written on the steps that are recorded. `ignore`: ids of findings that are switched off
    ("AN-L1").

    Where the file exists already, the next free name is taken (`recorder.path`). Raises ValueError for illegal
    arguments; anything else that goes wrong is one warning, and training goes on.
    """
    return Recorder(
        model, path, optimizer=optimizer, scaler=scaler, every=every, sites=sites, meta=meta, to=to, resume=resume,
        detail=detail, eager=eager, ignore=ignore,
    )  # fmt: skip


def unwatch(model: nn.Module) -> None:
    """Ends the recording of a model, if there is one."""
    if (recorder := _watched.get(core(bare(model)))) is not None:
        recorder.close()


class Recorder(Shown):
    """A recording in the making. Use it as a context manager, or `close` it.

    `called`: a forward pass is a call of the model; otherwise `begin_pass` and `end_pass` bracket it.
    """

    def __init__(
        self,
        model: nn.Module,
        path: str | os.PathLike[str] | None = None,
        *,
        optimizer: torch.optim.Optimizer | None = None,
        scaler: Any = None,
        every: int = 1,
        sites: Wanted = "auto",
        meta: Mapping[str, Any] | None = None,
        to: Iterable[Any] = (),
        resume: bool | int = False,
        detail: Detail = "",
        eager: bool = True,
        ignore: Iterable[str] = (),
        called: bool = True,
    ) -> None:
        to, ignore = list(to), [ignore] if isinstance(ignore, str) else list(ignore)
        self._sinks = Sinks(to)
        _check(path, every, meta, to, detail=detail, ignore=ignore)
        self._ignored = ignore
        self._wanted = path
        self.path = Path(os.devnull if path is None else path)
        self.sites = noted((), ["No sites yet: they are found at the first forward pass with gradients."])
        self._model = wrapper_of(bare(model))
        self._optimizer, self._scaler, self._stepped_by = _inner(optimizer), scaler, optimizer
        self._every, self._meta = every, dict(meta or {})
        self._chosen = None if isinstance(sites, str) and sites == "auto" else chosen_modules(self._model, sites)
        self._began, self._created = time.monotonic(), datetime.now(timezone.utc)
        self._own = dict(self._model.named_parameters())  # which functional_call may put others in the place of
        self._blocks: list[Block] = []
        self._weights: Weights | None = None  # from the header on
        self._probe: Probe | None = None
        self._tracer: Tracer | None = None
        self._detail = detail
        self._first = FirstPass(histograms=self._detail == "histograms")
        self._rows = Rows(self._write)
        self._row = PendingRow(0)
        # By optimiser, other than ours, how much of what ours updates it updates too.
        self._shares: WeakKeyDictionary[torch.optim.Optimizer, Shared] = WeakKeyDictionary()
        self._backward = BackwardPasses(self._trained, self._begin_backward, self._end_backward)
        self._newest: PendingRow | None = None  # the last closed row, for a loss that is told later
        self._before: tuple[PendingRow, Samples] | None = None  # weights as they were before an update, and its row
        self._steps = self._written = 0
        self._passes = 0
        self._paused = 0
        self._failing = self._closure = self._clips = False
        self._began_update = 0  # how many steps there were when the update under way began
        # At a compiled model in a pass of our own; no sites can be found; another optimiser has used the passes so far.
        self._looking = self._blind = self._elsewhere = False
        self._compiled = compiled_parts(self._model)
        self._eager = eager and EAGER is not None
        self._as_written = bool(self._compiled) and self._eager and not called  # on the steps that are recorded
        self._stance = contextlib.ExitStack()
        self._alarms: Alarms | None = None
        self._pass: LastPass | None = None  # the last one, for the operation that made a number
        self._header: Mapping[str, Any] = {}
        self._headed, self._teller = Recording(), Teller()
        self._resume, self._earlier = resume, Recording()  # what the file holds that is gone on with
        self._heads = Heads(nn.Module(), self._hear_heads)
        self._evidence = Evidence()
        self._version = -1  # of the gradients at the end of a backward pass, where clipping is looked for
        self._process = os.getpid()
        self._undo: list[Callable[[], object]] = []
        self._writer: Writer | None = None
        self._live: Live | None = None
        if _rank() == 0:  # the first process writes for all
            self._start(called)

    def _start(self, called: bool) -> None:
        """Opens the file and hooks the model, or says in a sentence why not."""
        if (earlier := _watched.get(core(self._model))) is not None:
            _say(f"this model was being watched already; the recording {earlier.path} ends here")
            earlier.close()
        if refusal := refused(self._model):
            _say(f"{refusal} Nothing is recorded.")
            return
        try:
            if self._resume is not False and self._wanted is not None and Path(self._wanted).is_file():
                self._take_up(read(self._wanted, growing=True))
            self._writer = Writer(self._wanted, further=bool(self._earlier.header))
        except OSError as error:
            _say(f"{self.path} cannot be written ({error.strerror or error}). Nothing is recorded.")
            return
        self.path = self._writer.path
        _watched[core(self._model)] = self
        self._undo += [left_out_of_copies(), self._backward.listen()]
        self._blind = bool(self._compiled) and (EAGER is None or not (called or self._as_written))
        if self._blind:
            self._no_sites(
                "This model is compiled, and its sites cannot be found here: only loss and weights are recorded."
            )
        if called:
            self._hook(self._model)
        if self._detail == "heads":
            self._heads = Heads(self._model, self._hear_heads)
            self._undo += self._heads.undo
        if self._optimizer is None and self._stepped_by is not None:
            _say("this optimizer is none of torch's, and no hook hears it: call recorder.step() before every update")
        if self._optimizer is not None:
            self._undo.append(self._optimizer.register_step_pre_hook(Hook(self._before_update)).remove)
            self._undo.append(self._optimizer.register_step_post_hook(Hook(self._after_update)).remove)
            self._undo.append(register_optimizer_step_pre_hook(self._other_update).remove)
        self._undo.append(listen(self._hear_scaler))
        atexit.register(self.close)

    def _take_up(self, earlier: Recording) -> None:
        """Counts on from a recording. The file is cut only when the model turns out to have its sites."""
        if not earlier.header:
            return
        self._earlier = earlier
        after = earlier.steps[-1] + 1 if len(earlier) else 0
        self._steps = after if self._resume is True else int(self._resume)
        self._row = PendingRow(self._steps)
        created = datetime.fromisoformat(earlier.header["created"])
        self._began -= (self._created - created).total_seconds()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._end("error", f"{type(error).__name__}: {error}")

    @property
    def recording(self) -> bool:
        """Whether rows are being written."""
        return self._writer is not None

    def loss(self, loss: Tensor | float) -> None:
        """Tells the loss of the step under way, or of the one just closed; several of one step are averaged."""
        self._safely(lambda: self._tell_loss(loss, own=True))

    def step(self, loss: Tensor | float | None = None) -> None:
        """Closes the row of a step, to be called before the weights change, where no torch optimiser does it."""
        if loss is not None:
            self._safely(lambda: self._tell_loss(loss, own=True))
        self._safely(self._close_row)
        self._ring()

    def show(self) -> None:
        """Shows the recording in the output of a notebook's cell from now on, drawn again at most twice a second."""
        if self.path == Path(os.devnull):
            _say("`show` draws what the file holds, and there is none: give watch a path")
            return
        try:
            self._live = Live(self.path)
        except LookupError as error:
            _say(str(error))

    def so_far(self) -> Recording:
        """What has been written by now."""
        return read(self.path, growing=True)

    @property
    def findings(self) -> list[Diagnostic]:
        """What has been found up to the last row that is written, the errors first."""
        return worst_first(self._teller.findings)

    def on(self, alarm: Callable[[Alarm], object], *, factor: float = FACTOR) -> None:
        """Calls `alarm` once when a number is not finite, with the operation that made it, when signal or gradient
        changes by more than `factor` from one site to the next, and when the loss stalls; before the update, which does
        not come if `alarm` raises. From then on each row waits for the device.
        """
        self._alarms = Alarms(alarm, factor)

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Leaves out the forward passes inside a `with` block, which are not for the model's own update."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1

    def close(self) -> None:
        """Ends the recording and removes all hooks. A second call does nothing."""
        self._end("done", "")

    # --- forward passes ---

    def begin_pass(self, *_hook: Any) -> None:
        """Begins a forward pass, in a loop that does not call the model itself."""
        self._safely(self._begin_pass)

    def end_pass(self, output: Any = None) -> None:
        """Ends a forward pass. A loss in its output is recorded unless `loss` tells another."""
        self._safely(lambda: self._end_pass(output))

    def _hook(self, model: nn.Module) -> None:
        after = Hook(lambda _model, _args, _kwargs, output: self.end_pass(output))
        self._undo.append(around(model, Hook(self._called), after))

    def _called(self, _model: nn.Module, args: Any, kwargs: Mapping[str, Any]) -> None:
        if self._compiled and self._wants_trace():
            self._safely(lambda: self._look_inside(args, kwargs))
        self.begin_pass()
        if not self._looking:
            self._safely(lambda: self._measure_input((*args, *kwargs.values())))
        if self._alarms is not None and not self._looking and torch.is_grad_enabled():
            self._pass = LastPass(args, kwargs)
        # Hugging Face gives how many tokens all small batches of a step have: the losses are shares of the step's.
        self._row.shares = kwargs.get("num_items_in_batch") is not None

    def _wants_trace(self) -> bool:
        wanted = torch.is_grad_enabled() and not (self._paused or self._blind or self._looking)
        return wanted and self._weights is None and self._steps % self._every == 0

    def _look_inside(self, args: Any, kwargs: Mapping[str, Any]) -> None:
        """Finds the sites of a compiled model in a pass of our own, so that the training's stays as it is."""
        self._looking = True
        try:
            with left_as_it_was(self._model), eagerly(), Tracer(self._model) as tracer:
                self._model(*args, **kwargs)
        finally:
            self._looking = False
        self._found(tracer)

    def _begin_pass(self) -> None:
        self._stance.close()
        if self._looking:
            return
        self._weights_after()
        if self._elsewhere:
            self._drop_passes()
        if not torch.is_grad_enabled() or self._blind or self._paused or self._steps % self._every:
            self._listen(False)
        elif self._weights is None:
            self._run_as_written()
            if self._tracer is None:
                self._tracer = Tracer(self._model, self._measure_once)
                self._tracer.__enter__()
        elif self._probe is not None:
            self._fold()
            self._listen(True)
            self._probe.begin()
            self._run_as_written()

    def _run_as_written(self) -> None:
        """Runs what torch.compile hides sites in as it is written, until the end of the pass."""
        if self._as_written:
            self._stance.enter_context(eagerly())

    def _end_pass(self, output: Any) -> None:
        if self._looking:
            return
        self._stance.close()
        if not torch.is_grad_enabled() or self._paused:
            self._listen(self._steps % self._every == 0)  # checkpointing may still compute a part again
            return
        self._passes += 1
        if self._tracer is not None:
            tracer, self._tracer = self._tracer, None
            tracer.__exit__(None, None, None)
            if output is None and sys.exc_info()[0] is not None:
                self._first = FirstPass(
                    histograms=self._detail == "histograms"
                )  # the forward pass failed; the next one is traced
                return
            self._found(tracer)
            self._take_first(tracer)
        elif self._probe is not None:
            self._probe.end()
            self._evidence.hear_pass(self._row, self._probe)
        self._measure_output(output)
        loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
        if isinstance(loss, Tensor) and not self._row.own_loss:
            self._tell_loss(loss, own=False)

    def _drop_passes(self) -> None:
        """Forgets the passes since the last update: their gradients were for another optimiser's."""
        self._elsewhere = False
        self._passes = 0
        self._row = PendingRow(self._steps)
        if self._probe is not None:
            self._probe.forget()
            self._probe.release()
        self._backward.forget()

    def _measure_output(self, output: Any) -> None:
        if self._steps % self._every == 0 and (tensor := output_of(output)) is not None:
            number = 1 if self._probe is None else self._probe.number
            self._row.parts += parts_of([("output", 0, tensor.detach())], number=number)

    def _measure_input(self, given: Iterable[Any]) -> None:
        """Takes the size of the first tensor of numbers that the model is given."""
        wanted = torch.is_grad_enabled() and not (self._paused or self._blind) and self._steps % self._every == 0
        tensor = next((one for one in given if isinstance(one, Tensor) and floating(one) and one.numel()), None)
        if wanted and tensor is not None:
            number = 1 if self._probe is None else self._probe.number
            self._row.parts += parts_of([("input", 0, tensor.detach())], number=number)

    def _hear_heads(self, start: int, squares: Tensor) -> None:
        wanted = torch.is_grad_enabled() and not (self._paused or self._looking) and self._steps % self._every == 0
        if wanted:
            number = 1 if self._probe is None else self._probe.number
            self._safely(lambda: self._row.heads.append((number, start, Fetch(squares))))

    def _trained(self) -> Iterator[Tensor]:
        """What updates change."""
        yield from self._model.parameters()
        yield from _parameters(self._optimizer)

    def _begin_backward(self, replaces: bool, number: int, loss: Tensor | None) -> None:
        """A backward pass that counts has come to a forward pass. `replaces`: those before it count no longer."""
        if replaces and self._probe is not None:
            self._row.reached |= self._probe.reached()
            others = self._probe.put_aside(number)
            self._row.parts += parts_of([("grad", at, grad) for at, grad in others])
            self._row.put_aside()
        if loss is not None:
            self._row.roots.append(Fetch(loss.clone()))
        if not self._closure:
            self._evidence.hear_backward(self._row)

    def _end_backward(self) -> None:
        """Looks at all gradients when a backward pass is over, before anything clips them."""
        if self._weights is None or _processes() > 1:
            return
        if self._backward.first_alone:
            self._safely(self._keep_first)
        elif self._clips:
            self._safely(self._keep_unclipped)
        elif _is_full(self._steps, self._every):
            self._version = self._weights.version()

    def _keep_first(self) -> None:
        """Keeps the weights' gradients that the row is of, because other passes follow before it is closed."""
        self._row.first = self._gradients()

    def _gradients(self) -> list[Part]:
        """Norms of the weights' gradients as they are now."""
        if self._weights is None:
            return []
        return self._weights.gradients() + (self._weights.each() if self._detail == "heads" else [])

    def _keep_unclipped(self) -> None:
        if self._weights is not None:
            self._row.unclipped = self._weights.gradients()

    def _listen(self, on: bool) -> None:
        if self._probe is not None:
            self._probe.listening = on

    def _found(self, tracer: Tracer) -> None:
        """Takes sites and blocks from the traced pass, and hooks the model."""
        graph = tracer.graph
        lost = []
        if tracer.failure is not None:
            lost = [f"The forward pass could not be traced: {_short(tracer.failure)}"]
        elif graph.too_large:
            lost = ["The forward pass makes too many tensors to trace them all."]
        self.sites = sites = self._sites_in(graph, lost)
        self._blocks = blocks_of(graph, sites, self._model) if sites and not lost else blocks_by_name(self._model)
        self._evidence.graph = None if lost else graph
        for note in sites.notes:
            _say(note)
        nodes = [graph.nodes[site.node] for site in sites]
        self._probe = Probe([site.place for site in sites], gradients=True, failed=self._fail)
        self._probe.counts = self._backward.counts
        self._probe.at_once = {at for at, node in enumerate(nodes) if node.overwritten}
        self._head()

    def _sites_in(self, graph: Graph, lost: Sequence[str]) -> Sites:
        """The sites of a traced pass. `lost`: why it may lack some."""

        def pick(graph: Graph) -> Sites:
            if self._chosen is not None:
                return noted(outputs_of(graph, self._chosen, self._model), lost)
            return Sites() if lost else find_sites(graph, self._model)

        seen = outside(graph, self._compiled)
        sites, visible = pick(graph), pick(seen)
        if hidden := len(sites) - len(visible):
            self._as_written = self._eager
            if self._eager:
                return noted(sites, [*sites.notes, as_written_in_words(hidden, len(sites))])
            return noted(visible, [hidden_in_words(hidden, len(sites))])
        self._as_written = False
        if visible or self._chosen is not None:
            return visible
        found = outputs_of(seen, offered(self._model), self._model)
        said = "No residual additions were found; the blocks' outputs are recorded. `sites` names others."
        return noted(found, [*lost, said if found else "No sites were found; `sites` names them."])

    def _take_first(self, tracer: Tracer) -> None:
        """Takes the first row's numbers from the traced pass, which the hooks came too late for."""
        probe = self._probe
        if probe is None:
            return
        probe.begin()
        probe.end()
        nodes = [tracer.graph.nodes[site.node] for site in self.sites]
        probe.expect(at for at, node in enumerate(nodes) if not node.differentiable)
        self._first.give(self._row, self.sites)
        self._first = FirstPass(histograms=self._detail == "histograms")

    def _no_sites(self, why: str) -> None:
        self.sites = noted((), [why])
        _say(why)

    def _measure_once(self, node: int, tensor: Tensor) -> None:
        """Measures a tensor of the traced pass: any at a boundary may turn out to be a site."""
        self._first.measure(node, tensor)
        if tensor.requires_grad:
            row = self._row
            hook = tensor.register_hook(lambda grad: self._safely(lambda: self._first_gradient(row, node, grad)))
            self._undo.append(hook.remove)

    def _first_gradient(self, row: PendingRow, node: int, grad: Tensor) -> None:
        if row is self._row and self._probe is not None:
            for at, site in enumerate(self.sites):
                if site.node == node:
                    self._probe.receive((1, at), grad)

    def _fold(self) -> None:
        """Turns what the probe holds into norms, so that its tensors can be freed."""
        probe = self._probe
        if probe is None:
            return
        measured = [("grad", at, grad) for at, grad in probe.received_at()]
        already = []
        for at, seen in enumerate(probe.seen):
            if at in probe.norm_at_once and seen is not None:
                already.append(("act", at, seen.numel(), probe.norm_at_once[at]))
            elif (tensor := probe.unspoilt(at)) is not None:
                measured.append(("act", at, tensor))
        self._row.parts += parts_of(measured, already, number=probe.number)
        self._row.reached |= probe.reached()
        if _is_full(self._steps, self._every):
            signals = [(at, tensor) for name, at, tensor in measured if name == "act"]
            self._row.cosines += [(probe.number, *one) for one in cosines_of(signals)]
            if self._detail == "histograms":
                self._row.histograms += [(probe.number, *one) for one in histograms_of(signals)]
        probe.forget()

    # --- rows ---

    def _before_update(self, _optimizer: Any, args: Any, kwargs: Any) -> None:
        """Closes the row; after the update where that has a closure, which makes the passes."""
        self._closure = _has_closure(args, kwargs)
        self._began_update = self._steps
        self._backward.first_alone = self._closure and isinstance(self._optimizer, torch.optim.LBFGS)
        if not self._closure:
            self._safely(self._close_row)
            self._ring()

    def _after_update(self, _optimizer: Any, _args: Any, _kwargs: Any) -> None:
        closes = self._closure and self._steps == self._began_update  # unless an optimiser inside of it has
        self._safely(self._close_row if closes else self._weights_after)
        self._backward.first_alone = False
        if closes:
            self._ring()

    def _other_update(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        """Another optimiser takes its step: the passes since ours were for it, unless ours still follows.

        One that updates all that ours does is what ours is wrapped around, or the other way round.
        """
        if self._passes and optimizer is not self._optimizer:
            if optimizer not in self._shares:
                self._shares[optimizer] = self._shared(optimizer)
            if self._shares[optimizer] == "all":
                if not _has_closure(args, kwargs):
                    self._safely(self._close_row)
                    self._ring()
                return
            self._elsewhere = True
            if self._shares[optimizer] == "none":
                self._safely(self._drop_passes)

    def _shared(self, optimizer: torch.optim.Optimizer) -> Shared:
        ours, its, model = (
            {id(p) for p in parameters}
            for parameters in (_parameters(self._optimizer), _parameters(optimizer), self._model.parameters())
        )
        return "all" if ours == its else "some" if its & model else "none"

    def _close_row(self, skipped: bool = False) -> None:
        row, wanted = self._row, self._steps % self._every == 0
        before, self._newest = self._newest, None
        if self._alarms is not None and before is not None and before.losses:
            self._alarms.hear(before.step, before.loss() or 0.0)
        self._elsewhere = False
        if self._blind and self._weights is None:
            self._blocks = blocks_by_name(self._model)
            self._head()
        if wanted and self._weights is not None and (self._passes or self._blind):
            if self._probe is not None and self._backward.assembled:
                self._probe.take_back()
                row.take_back()
            self._fold()
            row.parts += row.first or self._gradients()
            self._clips |= 0 <= self._version < self._weights.version()
            self._version = -1
            self._set_scales(row, skipped)
            self._evidence.give(row)
            row.seconds, row.skipped = time.monotonic() - self._began, skipped
            row.by_optimizer = self._optimizer is not None
            self._rows.add(row)
            self._newest = row
            if self._alarms is not None:
                self._alarms.look(self._headed.alone(row.line(self._header)), self._made_by)
            if not skipped and not self._closure and _is_full(self._steps, self._every):
                self._before = (row, self._weights.samples())
        elif wanted and not self._passes and not self._paused and self._steps == 0:
            _say(
                "a step was taken without a forward pass of the model with gradients; it is not recorded. A model that "
                "is compiled is compiled first and watched then: watch(torch.compile(model))"
            )
        if self._probe is not None:
            self._probe.forget()
            self._probe.release()
        self._backward.forget()
        self._evidence.close(skipped=skipped)
        self._steps += 1
        self._passes = 0
        self._row = PendingRow(self._steps)
        if self._live is not None:
            self._live.refresh()
        failure = self._writer.failure if self._writer is not None else None
        if failure is not None:
            raise failure

    def _made_by(self, what: str, _place: str) -> str:
        """The operation that made the first number of the last pass that is not finite; empty where it is not known."""
        again, self._pass = self._pass, None
        if again is None or what not in ("signal", "model's output") or _processes() > 1:
            return ""  # several processes would have to run it together
        self._looking = True
        try:
            return again.culprit(self._model)
        except Exception:
            return ""
        finally:
            self._looking = False

    def _ring(self) -> None:
        if self._alarms is not None:
            self._alarms.ring()

    def _set_scales(self, row: PendingRow, skipped: bool) -> None:
        """Gives a row the learning rate and AMP's scale, as they are before the update."""
        if self._optimizer is not None:
            lr = self._optimizer.param_groups[0].get("lr")
            row.lr = Fetch(lr.detach().clone()) if isinstance(lr, Tensor) else lr
        if self._scaler is not None and self._scaler.is_enabled():
            row.scale = Fetch(scale_of(self._scaler))
            row.weights_scaled = not skipped and not unscaled(self._scaler, self._optimizer)

    def _weights_after(self) -> None:
        """Gives the row before an update how far that moved the weights."""
        if self._before is not None:
            (row, before), self._before = self._before, None
            row.parts += changes(before)

    def _tell_loss(self, loss: Tensor | float, own: bool) -> None:
        row = self._row if self._passes else self._newest
        if row is None or (row.own_loss and not own) or self._backward.closed:
            return
        if own and not row.own_loss:
            row.losses, row.own_loss, row.shares = [], True, False
        mean = (
            loss.detach().float().mean() if isinstance(loss, Tensor) else torch.tensor(float(loss), dtype=torch.float64)
        )
        row.losses.append(Fetch(mean.clone()))

    def _hear_scaler(self, scaler: Any, optimizer: Any, over: bool) -> None:
        """Takes a scaler that scales this model's loss, and closes the row of an update that it leaves out."""
        if self._scaler is None and optimizer is self._optimizer and self._passes:
            self._scaler = scaler
        if scaler is not self._scaler or optimizer is None or optimizer is not self._optimizer:
            return
        if not over:
            self._began_update = self._steps
        elif self._steps == self._began_update:
            self._safely(lambda: self._close_row(skipped=True))
            self._ring()

    # --- the file ---

    def _head(self) -> None:
        self._weights = Weights(self._model, self._blocks, self._own)
        line = header(
            self._model,
            self._optimizer,
            created=self._created,
            every=self._every,
            sites=self.sites,
            blocks=self._blocks,
            meta=self._meta,
            ignored=self._ignored,
            matrices=self._weights.matrices,
            graph=self._evidence.graph,
            details=self._details(self._weights),
        )
        self._header, self._headed = line, headed(line)
        updated = self._model.parameters() if self._optimizer is None else _parameters(self._optimizer)
        self._evidence.begin(self._weights, updated, line.get("calls", ()), resumed=bool(self._earlier.header))
        if self._writer is None:
            return
        if kept := self._earlier.header:
            same = all(kept.get(key) == line.get(key) for key in ("sites", "blocks", "heads", "weights", "bins"))
            if same and kept["addnorm"] == VERSION:
                rows = self._written = sum(step < self._steps for step in self._earlier.steps)
                self._writer.cut(rows)
                self._writer.write(lambda: self._hear_earlier(rows))
                return
            why = "was made by an older recorder" if same else "is of a model with other sites"
            _say(f"{self.path} {why}: it stays as it is, and a new recording begins")
            self._writer.leave()
            self._writer = Writer(self.path)
            self.path = self._writer.path
        self._writer.write(lambda: [line])

    def _details(self, weights: Weights) -> dict[str, Any]:
        """What the header says of the detail that was asked for."""
        if self._detail == "heads":
            return {"heads": self._heads.names, "weights": weights.names}
        return {"bins": BINS} if self._detail == "histograms" else {}

    def _write(self, row: PendingRow) -> None:
        if self._writer is not None:
            self._written += self._writer.write(lambda: self._lines_of(row))

    def _lines_of(self, row: PendingRow) -> list[dict[str, Any]]:
        """A row and what is new to be said with it, as the file holds them. Called by the writer's thread."""
        line = row.line(self._header)
        alone = self._headed.alone(line)
        said, found = self._teller.hear(alone, 0)
        self._sinks.tell(alone, said)
        told = told_line(said, found)
        return [line, told] if told else [line]

    def _hear_earlier(self, rows: int) -> list[dict[str, Any]]:
        """Hears so many rows that are gone on with. Called by the writer's thread."""
        for at in range(rows):
            self._teller.hear(self._earlier, at)
        return []

    def _end(self, how: str, reason: str) -> None:
        """Removes all hooks and writes the last line. Raises nothing."""
        writer, self._writer = self._writer, None
        if writer is None or os.getpid() != self._process:
            return
        self._stance.close()
        atexit.unregister(self.close)
        _watched.pop(core(self._model), None)
        if self._tracer is not None:
            tracer, self._tracer = self._tracer, None
            _quietly(lambda: tracer.__exit__(None, None, None))
        for undo in [*self._undo, *([self._probe.remove] if self._probe else [])]:
            _quietly(undo)
        self._writer = writer
        if self._weights is None:
            _quietly(self._head)
        _quietly(self._weights_after)
        _quietly(self._rows.finish)
        self._writer = None
        dropped = writer.dropped + self._rows.dropped
        last = {"end": how, "reason": reason[:LONGEST], "rows": self._written, "dropped": dropped}
        if not writer.close(lambda: [last]) and how != "recorder":
            why = _short(writer.failure) if writer.failure else "the disk is too slow"
            _say(f"the end of {self.path} could not be written ({why})")
        for problem in self._sinks.problems:
            _say(problem)
        if how == "done" and not self._written:
            _say(f"{self.path} has no rows: give watch the optimizer, or call recorder.step() in every step")

        if self._live is not None:
            self._live.finish()

    # --- never in the way ---

    def _safely(self, work: Callable[[], None]) -> None:
        if self._writer is None or self._failing:
            return
        try:
            work()
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self._writer is None or self._failing:
            return
        self._failing = True
        reason = _short(error)
        _say(f"the recording {self.path} ends here, training goes on: {reason}")
        self._end("recorder", reason)


def _check(path: Any, every: int, meta: Any, to: Sequence[Any], *, detail: str, ignore: Sequence[str]) -> None:
    """Raises ValueError for arguments of `watch` that make no sense."""
    if every < 1:
        raise ValueError(f"every: {every} is not a number of steps")
    try:
        json.dumps(meta, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"meta: {error}") from None
    if detail not in get_args(Detail):
        raise ValueError(f"detail: {detail!r} is not known; there are 'heads' and 'histograms'")
    if unknown := unknown_rules(ignore):
        raise ValueError(f"ignore: {unknown}")
    if path is None and not to:
        raise ValueError("path: there is neither a file nor a dashboard to record to")


def _inner(optimizer: Any) -> torch.optim.Optimizer | None:
    """An optimiser without a wrapper around it, as accelerate's and Lightning's; None for one without hooks."""
    while isinstance(inner := getattr(optimizer, "optimizer", None), torch.optim.Optimizer):
        optimizer = inner
    return optimizer if hasattr(optimizer, "_optimizer_step_pre_hooks") else None


def _has_closure(args: Any, kwargs: Any) -> bool:
    """Whether an update, called so, makes passes of its own."""
    return kwargs.get("closure") is not None or any(arg is not None for arg in args[1:2])


def _parameters(optimizer: torch.optim.Optimizer | None) -> Iterator[Tensor]:
    """What an optimiser updates."""
    for group in optimizer.param_groups if optimizer is not None else ():
        yield from group["params"]


def _is_full(step: int, every: int) -> bool:
    """Whether a row has updates and cosines: rows 0, 1, 2, 4, 8, ..., SELDOM, and then every SELDOM-th."""
    row = step // every
    return row % SELDOM == 0 or (row < SELDOM and row & (row - 1) == 0)


def _rank() -> int:
    """The number of this process among several."""
    several = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.distributed.get_rank() if several else 0


def _processes() -> int:
    several = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.distributed.get_world_size() if several else 1


def _short(error: Exception) -> str:
    """An error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]


def _quietly(work: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):
        work()


def _say(sentence: str) -> None:
    """Warns, every time, at the line outside this package and torch that led here."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("addnorm", "torch"):
        frame = frame.f_back
    module = frame.f_globals.get("__name__", "")
    warnings.warn_explicit(f"addnorm: {sentence}", UserWarning, frame.f_code.co_filename, frame.f_lineno, module)
