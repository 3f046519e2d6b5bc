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
from addnorm.amp import add_scaler_listener, is_unscaled, scale_of
from addnorm.blocks import Block, blocks_by_name, blocks_of, trained_matrices
from addnorm.compiled import (
    SET_STANCE,
    compile_wrapper,
    compiled_parts,
    force_eager,
    hook_calls,
    plain_name,
    scripted_parts,
    unwrap_compiled,
    visible_graph,
)
from addnorm.copies import strip_hooks_from_copies
from addnorm.cosine import cosines_of, peaks_of
from addnorm.detail import Heads
from addnorm.display import Display
from addnorm.evidence import Evidence, input_mark
from addnorm.faults import outermost_module
from addnorm.first_pass import FirstPass
from addnorm.format import BINS
from addnorm.header import build_header
from addnorm.histogram import histograms_of
from addnorm.live import Live
from addnorm.model import preserve_state, unsupported_reason, unwrap_ddp
from addnorm.operation import LastPass
from addnorm.optimizers import Optimizers, ids_of, parameters_of
from addnorm.passes import BackwardPasses, Call, Replaced, is_in_backward
from addnorm.probe import Hook, NoticingHook, Probe
from addnorm.recording import Recording, changes_entry, read, recording_from_header
from addnorm.rows import Fetch, Part, PendingRow, parts_of
from addnorm.rules import Diagnostic, sorted_by_severity, unknown_rules_message
from addnorm.sentences import Narrator
from addnorm.sinks import Sinks
from addnorm.sites import (
    READ_OVER_DEPTH,
    Sites,
    eager_sites_note,
    fallback_modules,
    find_sites,
    hidden_sites_note,
    matching_modules,
    output_sites,
    sites_with_notes,
)
from addnorm.stream import reads_over_depth
from addnorm.trace import Graph, Tracer, is_numeric, output_of, strays_of
from addnorm.weights import Sample, Weights, lost_shares, update_norms
from addnorm.writer import Writer

Detail = Literal["", "heads", "histograms"]
OptimizerChoice = torch.optim.Optimizer | Sequence[torch.optim.Optimizer] | None
SiteSelection = Literal["auto"] | str | Iterable[str] | Mapping[str, nn.Module]

FULL_ROW_INTERVAL = 64  # rows between two with updates and cosines, after the first ones
MAX_LISTED = 8  # names in a note
MAX_REASON_CHARS = 500  # of an error
FORMAT_FIELDS = ("sites", "blocks", "heads", "weights", "bins")  # of the header; a resumed file must have the same

_watched: WeakKeyDictionary[nn.Module, Recorder] = WeakKeyDictionary()


def watch(
    model: nn.Module,
    path: str | os.PathLike[str] | None = None,
    *,
    optimizer: OptimizerChoice = None,
    scaler: Any = None,
    every: int = 1,
    sites: SiteSelection = "auto",
    meta: Mapping[str, Any] | None = None,
    to: Iterable[Any] = (),
    resume: bool | int = False,
    detail: Detail = "",
    eager: bool = True,
    ignore: Iterable[str] = (),
) -> Recorder:
    """Records signal and gradient along the residual stream of `model` to a file that can be read while it grows.

    Every update of `optimizer` closes a row, before the weights change; without an optimiser, `recorder.step()` does.
    Several optimisers that share an update are given as a list.
    `scaler`: AMP's GradScaler, whose scale is divided out. `every`: steps per row. `sites`: "auto", globs of module
    names, or modules by site name. `meta`: stored in the header, as JSON. `to`: TensorBoard's `SummaryWriter` or a run
    of Weights & Biases or Trackio, which receive a few numbers of each row, beside a file or without one; an address
    of a webhook; each of them receives the findings.

    `resume`: appends to an existing file after its last row (True), or drops its rows from a step on. `detail`: "heads"
    adds the size of each attention head's output and the gradient of each parameter, "histograms" the distribution of
    each site's values in the rows with updates. `eager`: if torch.compile hides sites, the model runs eagerly on the
    recorded steps. `ignore`: ids of findings to switch off ("AN-L1").

    If the file exists, the next free name is taken (`recorder.path`). Raises ValueError for illegal arguments; any
    other fault is one warning, and training goes on.
    """
    return Recorder(
        model, path, optimizer=optimizer, scaler=scaler, every=every, sites=sites, meta=meta, to=to, resume=resume,
        detail=detail, eager=eager, ignore=ignore,
    )  # fmt: skip


def unwatch(model: nn.Module) -> None:
    """Ends the recording of a model, if there is one."""
    recorder = _watched.get(unwrap_compiled(unwrap_ddp(model)))
    if recorder is not None:
        recorder.close()


class Recorder(Display):
    """A recording in progress. Use it as a context manager, or call `close`.

    With `called`, each call of the model is a forward pass. Without it, the loop calls `begin_pass` and `end_pass`.
    """

    def __init__(
        self,
        model: nn.Module,
        path: str | os.PathLike[str] | None = None,
        *,
        optimizer: OptimizerChoice = None,
        scaler: Any = None,
        every: int = 1,
        sites: SiteSelection = "auto",
        meta: Mapping[str, Any] | None = None,
        to: Iterable[Any] = (),
        resume: bool | int = False,
        detail: Detail = "",
        eager: bool = True,
        ignore: Iterable[str] = (),
        called: bool = True,
    ) -> None:
        to = [to] if isinstance(to, str) else list(to)
        ignore = [ignore] if isinstance(ignore, str) else list(ignore)
        self._sinks = Sinks(to)
        _check_arguments(path, every, meta, to, detail=detail, ignore=ignore)
        self._ignored = ignore
        self._requested_path = path
        self.path = Path(os.devnull if path is None else path)
        self._model = compile_wrapper(unwrap_ddp(model))
        self._optimizers = Optimizers(optimizer)
        self._updated: list[Tensor] = []  # what updates change, and whether the model has any of it
        self._has_model = False
        self._is_called = called
        self._scaler = scaler
        self._every = every
        self._meta = dict(meta or {})
        is_auto = isinstance(sites, str) and sites == "auto"
        self._site_modules = None if is_auto else matching_modules(self._model, sites)
        self._resume = resume
        self._detail = detail
        self._compiled = compiled_parts(self._model)
        self._may_run_eagerly = eager and SET_STANCE is not None
        self._runs_eagerly = bool(self._compiled) and self._may_run_eagerly and not called  # on recorded steps
        self._init_model_state()
        self._init_loop_state()
        self._init_file_state()
        if _rank() == 0:  # the first process writes for all
            self._start(called)

    def _init_model_state(self) -> None:
        self.sites = sites_with_notes((), ["No sites yet: they are found at the first forward pass with gradients."])
        self._parameters = dict(self._model.named_parameters())  # functional_call may replace them during a pass
        self._blocks: list[Block] = []
        self._weights: Weights | None = None  # set when the header is written
        self._probe: Probe | None = None
        self._tracer: Tracer | None = None
        self._first_pass = self._new_first_pass()
        self._heads = Heads(nn.Module(), self._record_heads)
        self._has_no_sites = False
        self._stance = contextlib.ExitStack()
        self._undo: list[Callable[[], object]] = []

    def _init_loop_state(self) -> None:
        self._begin_step(0)
        self._last_row: PendingRow | None = None  # the last closed row, whose loss may still come
        self._update: tuple[PendingRow, list[Sample]] | None = None  # a row and the weights before its update
        self._backward = BackwardPasses(
            self._own_parameters,
            self._model.parameters,
            self._begin_backward,
            self._end_backward,
            has_optimizer=bool(self._optimizers.watched),
        )
        self._backward.on_loss = self._note_loss
        self._step_at_update = 0  # the step when the update under way began
        self._passes = 0  # number of forward passes in the step so far
        self._open_passes: set[int] = set()  # those whose gradients no other optimiser has used
        self._paused = 0  # number of `pause` blocks around the present code
        self._update_has_closure = False
        self._clips = False  # the loop clips gradients
        self._is_in_own_pass = False  # a pass that the recorder itself makes
        self._closes_after_backward = False  # the update is made inside the backward pass
        self._is_update_compiled = False  # no hook hears the update
        self._weight_versions = 0  # at the last forward pass, to notice an update that no hook hears
        self._hears_optimizers = False  # by hooks
        self._updates_in_backward = False  # so far
        self._samples: list[Sample] = []  # of the weights before an update that no hook precedes
        self._is_called_elsewhere = ""  # where the model is called so that no hook sees its tensors
        self._unheard_steps = 0  # with gradients and without a forward pass
        self._tells_first = False  # the loop tells a loss before its step, in a model whose passes are not heard
        self._rows_closed = 0
        self._ends: list[tuple[str, Tensor, int]] = []  # input and output of the pass, and their versions
        self._overwritten_ends: set[str] = set()
        self._has_turns = False  # it was said that optimisers step in turns
        self._gradient_version = -1  # version counter at the end of a backward pass, to detect clipping
        self._alarms: Alarms | None = None
        self._last_pass: LastPass | None = None  # for the operation that made a non-finite number

    def _init_file_state(self) -> None:
        self._start_time = time.monotonic()
        self._created = datetime.now(timezone.utc)
        self._rows_written = 0
        self._has_header = False  # the file has it
        self._is_foreign = False  # the file to resume is no recording
        self._is_closed = False
        self._is_failing = False
        self._header: dict[str, Any] = {}
        self._empty_recording = Recording()  # with the header alone
        self._earlier = Recording()  # the content of the resumed file
        self._evidence = Evidence()
        self._narrator = Narrator()
        self._process = os.getpid()
        self._writer: Writer | None = None
        self._live: Live | None = None

    def _start(self, called: bool) -> None:
        """Opens the file and hooks the model, or warns why not."""
        earlier = _watched.get(unwrap_compiled(self._model))
        if earlier is not None:
            _warn(f"this model was being watched already; the recording {earlier.path} ends here")
            earlier.close()
        if reason := unsupported_reason(self._model):
            _warn(f"{reason} Nothing is recorded.")
            return
        try:
            self._writer = self._open(self._requested_path)
        except (OSError, ValueError) as error:  # ValueError: a path with a null character
            cause = getattr(error, "strerror", None) or error
            _warn(f"{self.path} cannot be written ({cause}). Nothing is recorded.")
            return
        self.path = self._writer.path
        _watched[unwrap_compiled(self._model)] = self
        self._undo += [strip_hooks_from_copies(), self._backward.listen()]
        self._has_no_sites = bool(self._compiled) and (SET_STANCE is None or not (called or self._runs_eagerly))
        if self._has_no_sites:
            note = "This model is compiled, and its sites cannot be found here: only loss and weights are recorded."
            self.sites = sites_with_notes((), [note])
            _warn(note)
        self._hook(called)
        atexit.register(self.close)

    def _open(self, path: str | os.PathLike[str] | None) -> Writer:
        """Opens the file, or the one to resume, unless that is none of ours or another recorder writes it."""
        if self._resume is not False and path is not None and Path(path).is_file():
            earlier = read(path, growing=True)
            if earlier.header:
                with contextlib.suppress(BlockingIOError):
                    writer = Writer(path, resume=True)
                    self._resume_from(read(path, growing=True))
                    return writer
            elif Path(path).stat().st_size:
                self._is_foreign = True
        writer = Writer(path)
        if self._resume is not False and path is not None and writer.path != Path(path):
            reason = "is not a recording" if self._is_foreign else "is being written by another recorder"
            _warn(f"{path} {reason}: it stays as it is, and a new recording begins in {writer.path}")
        return writer

    def _hook(self, called: bool) -> None:
        """Registers the hooks on model, optimiser and scaler."""
        if called:
            after = Hook(lambda _model, _args, _kwargs, output: self.end_pass(output))
            before_call = NoticingHook(self._before_call, self._on_compiled_call, self._on_transform)
            self._undo.append(hook_calls(self._model, before_call, after))
        if self._detail == "heads":
            self._heads = Heads(self._model, self._record_heads)
            self._undo += self._heads.undo
        if self._optimizers.strangers:
            _warn(_strangers_sentence(self._optimizers))
        self._hears_optimizers = called and bool(self._optimizers.watched)  # else the loop tells the updates
        for optimizer in self._optimizers.watched if called else ():
            before = NoticingHook(self._before_update, self._on_compiled_update)
            self._undo.append(optimizer.register_step_pre_hook(before).remove)
            self._undo.append(optimizer.register_step_post_hook(Hook(self._after_update)).remove)
        if self._hears_optimizers:
            self._undo.append(register_optimizer_step_pre_hook(Hook(self._before_other_update)).remove)
        if called:
            self._undo.append(add_scaler_listener(self._on_scaler))

    def _resume_from(self, earlier: Recording) -> None:
        """Continues the steps of a recording. The file is cut once the model turns out to have the same sites."""
        self._earlier = earlier
        next_step = earlier.steps[-1] + 1 if len(earlier) else 0
        self._begin_step(next_step if self._resume is True else int(self._resume))
        created = datetime.fromisoformat(earlier.header["created"])
        self._start_time -= (self._created - created).total_seconds()

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
        """Records the loss of the step under way, or of the one just closed; several of one step are averaged."""
        self._warn_if_closed()
        self._safely(lambda: self._record_loss(loss, from_loop=True))

    def step(self, loss: Tensor | float | None = None) -> None:
        """Closes the row of a step. Call it before the weights change, unless a torch optimiser makes the updates."""
        if loss is not None:
            self.loss(loss)
        self._warn_if_closed()
        self._close_row_and_notify()

    def step_of(self, optimizer: torch.optim.Optimizer, losses: Iterable[Tensor]) -> None:
        """Closes the row of a step if its update is of the optimiser that the rows are of; for loops without hooks."""
        if not self._begins_row(optimizer):
            return
        for loss in losses:
            self.loss(loss)
        self.step()

    def _warn_if_closed(self) -> None:
        if self._is_closed:
            self._is_closed = False  # said once
            _warn(f"this recorder is closed, and {self.path} takes no more rows; watch the model again to go on")

    def show(self) -> None:
        """Shows the player in the output of a notebook's cell from now on, which follows the file. Needs anywidget."""
        if self.path == Path(os.devnull):
            _warn("`show` draws what the file holds, and there is no file: give watch a path")
            return
        try:
            self._live = Live(self.path)
        except LookupError as error:
            _warn(str(error))

    def snapshot(self) -> Recording:
        return read(self.path, growing=True)

    @property
    def findings(self) -> list[Diagnostic]:
        """The findings up to the last written row, the errors first."""
        return sorted_by_severity(self._narrator.findings)

    def on(self, alarm: Callable[[Alarm], object], *, factor: float = FACTOR) -> None:
        """Calls `alarm` once when a number is not finite, with the operation that made it, when signal or gradient
        changes by more than `factor` from one site to the next, and when the loss rises. The call precedes the update,
        which does not happen if `alarm` raises. From then on each row waits for the device.
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
        """Ends a forward pass. A loss in its output is recorded unless the loop calls `loss`."""
        self._safely(lambda: self._end_pass(output))

    def _begin_step(self, step: int) -> None:
        """Begins a step. Rows 0, 1, 2, 4, 8, ..., then every FULL_ROW_INTERVAL-th have updates and cosines."""
        self._step = step
        self._row = PendingRow(step)
        row, rest = divmod(step, self._every)
        is_power_of_two = row & (row - 1) == 0
        self._is_recorded_step = not rest
        is_full = row % FULL_ROW_INTERVAL == 0 or (row < FULL_ROW_INTERVAL and is_power_of_two)
        self._is_full_step = is_full and not rest

    @property
    def _is_recorded_pass(self) -> bool:
        return torch.is_grad_enabled() and not self._paused and self._is_recorded_step

    @property
    def _pass_number(self) -> int:
        return 1 if self._probe is None else self._probe.pass_number

    def _before_call(self, _model: nn.Module, args: Any, kwargs: Mapping[str, Any]) -> None:
        can_trace = bool(self._compiled) and self._weights is None and not (self._has_no_sites or self._is_in_own_pass)
        if can_trace and self._is_recorded_pass:
            self._safely(lambda: self._trace_compiled(args, kwargs))
        self.begin_pass()
        if self._is_recorded_pass and not self._is_in_own_pass:
            self._safely(lambda: self._measure_input((*args, *kwargs.values())))
            if self._alarms is not None and torch.is_grad_enabled():
                self._last_pass = LastPass(args, kwargs)
        # Hugging Face passes the token count of all small batches of a step: the losses are shares of the step's.
        self._row.losses_are_shares = kwargs.get("num_items_in_batch") is not None

    def _trace_compiled(self, args: Any, kwargs: Mapping[str, Any]) -> None:
        """Finds the sites of a compiled model in a pass of the recorder's own, so that the training's is unchanged."""
        self._is_in_own_pass = True
        try:
            with preserve_state(self._model), force_eager(), Tracer(self._model) as tracer:
                self._model(*args, **kwargs)
        finally:
            self._is_in_own_pass = False
        self._use_trace(tracer)

    def _begin_pass(self) -> None:
        self._stance.close()
        if self._is_in_own_pass:
            return
        self._close_unheard_update()
        self._measure_update()
        self._evidence.note_outputs(None)
        if not self._is_recorded_pass or self._has_no_sites:
            self._set_listening(False)
        elif self._weights is None:
            self._enter_eager()
            if self._tracer is None:
                self._tracer = Tracer(self._model, self._measure_traced)
                self._tracer.__enter__()
        elif self._probe is not None:
            if self._passes:
                self._collect_pass()
            self._set_listening(True)
            self._probe.begin()
            self._enter_eager()

    def _enter_eager(self) -> None:
        """Runs a compiled model eagerly until the end of the pass, if compilation hides sites."""
        if self._runs_eagerly:
            self._stance.enter_context(force_eager())

    def _end_pass(self, output: Any) -> None:
        if self._is_in_own_pass:
            return
        self._stance.close()
        if not torch.is_grad_enabled() or self._paused:
            self._set_listening(self._is_recorded_step)  # checkpointing may still compute a part again
            return
        self._passes += 1
        self._open_passes.add(self._pass_number)
        self._row.forward_passes += 1
        if self._is_full_step:
            self._evidence.note_outputs(output)
        if self._tracer is not None:
            tracer = self._tracer
            self._tracer = None
            tracer.__exit__(None, None, None)
            if output is None and sys.exc_info()[0] is not None:
                self._first_pass = self._new_first_pass()  # the forward pass failed; the next one is traced
                return
            self._use_trace(tracer)
            self._use_first_pass(tracer)
        elif self._probe is not None:
            self._probe.end()
            self._evidence.record_calls(self._row, self._probe)
        self._prepare_for_updates_in_backward()
        tensor = output_of(output) if self._is_recorded_step else None
        if tensor is not None:
            self._measure_end("output", tensor)
        loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
        if isinstance(loss, Tensor) and not self._row.loss_from_loop:
            self._record_loss(loss, from_loop=False)

    def _measure_input(self, inputs: Iterable[Any]) -> None:
        """Measures the first numeric tensor that the model receives, and whether its only input changes."""
        inputs = list(inputs)
        tensors = (value for value in inputs if isinstance(value, Tensor) and is_numeric(value) and value.numel())
        tensor = next(tensors, None)
        if not self._has_no_sites and tensor is not None:
            self._measure_end("input", tensor)
        if self._is_full_step:
            self._row.input_mark = input_mark(inputs)
            self._evidence.note_inputs(inputs)

    def _measure_end(self, name: str, tensor: Tensor) -> None:
        """Measures the model's input or output: with the sites, unless it is overwritten before."""
        if self._probe is None or name in self._overwritten_ends:
            self._row.parts += parts_of([(name, 0, tensor.detach())], pass_number=self._pass_number)
        else:
            self._ends.append((name, tensor.detach(), tensor._version))

    def _record_heads(self, start: int, squares: Tensor) -> None:
        if self._is_recorded_pass and not self._is_in_own_pass:
            self._safely(lambda: self._row.heads.append((self._pass_number, start, Fetch(squares))))

    def _expected_parameters(self) -> Iterable[Tensor]:
        """The tensors that should receive a gradient."""
        if not self._optimizers.watched:
            return self._own_parameters()
        return self._optimizers.parameters() if self._optimizers.lead or self._updates_in_backward else []

    def _note_loss(self, loss: Tensor) -> None:
        if self._is_full_step and self._passes:
            self._evidence.note_loss(loss)

    def _own_parameters(self) -> list[Tensor]:
        """The tensors that updates change: of the model if the optimisers have any of it, and theirs."""
        updated = self._optimizers.parameters()
        if updated and updated is not self._updated:
            self._updated = updated
            self._has_model = not {id(p) for p in updated}.isdisjoint(map(id, self._parameters.values()))
        if updated and self._has_model:
            return updated
        return [*self._model.parameters(), *updated]

    def _begin_backward(self, pass_number: int, replaced: Replaced, accumulates: bool, call: Call | None) -> None:
        """Begins a backward pass that counts."""
        if replaced and self._probe is not None:
            self._row.reached |= self._probe.reached()
            others = self._probe.put_aside(pass_number)
            self._row.parts += parts_of([("grad", site, grad) for site, grad in others])
            self._row.put_aside()
        if call is not None and call.loss is not None:
            self._row.roots.append(Fetch(call.loss.clone() if call.factor is None else call.loss * call.factor))
            self._row.root_losses.append(call.loss)
        if replaced == "zeroed":
            self._row.leftover = None
        self._evidence.add_loss(self._row)
        if accumulates and not self._update_has_closure:
            self._evidence.measure_leftover_gradient(self._row)

    def _end_backward(self) -> None:
        """Measures all gradients at the end of a backward pass if they may be clipped or changed before the update."""
        if self._closes_after_backward:
            self._closes_after_backward = False
            self._close_row_and_notify()
            return
        if self._weights is None or _process_count() > 1:
            return
        may_be_compiled = self._is_update_compiled or (self._step == 0 and "torch._dynamo" in sys.modules)
        if may_be_compiled and self._hears_optimizers:
            self._safely(self._measure_before_unheard_update)
        if self._backward.first_evaluation_only:
            self._safely(self._store_first_gradients)
        elif self._clips:
            self._safely(self._store_unclipped)
        elif self._is_full_step:
            self._gradient_version = self._weights.gradient_version()

    def _store_first_gradients(self) -> None:
        """Stores the gradients of the first pass, because later passes change them before the row is closed."""
        self._row.first_gradients = self._gradients()

    def _store_unclipped(self) -> None:
        if self._weights is not None:
            self._row.unclipped = self._weights.gradients()

    def _gradients(self) -> list[Part]:
        """Norms of the weights' gradients as they are now."""
        if self._weights is None:
            return []
        return [*self._weights.gradients(), *self._detailed_gradients(self._weights)]

    def _detailed_gradients(self, weights: Weights) -> list[Part]:
        return weights.parameter_gradients() if self._detail == "heads" else []

    def _set_listening(self, listening: bool) -> None:
        if self._probe is not None:
            self._probe.listening = listening

    # --- the traced pass ---

    def _use_trace(self, tracer: Tracer) -> None:
        """Takes sites and blocks from the traced pass, and hooks the model."""
        graph = tracer.graph
        problems = []
        if tracer.failure is not None:
            problems = [f"The forward pass could not be traced: {_one_line(tracer.failure)}"]
        elif graph.too_large:
            problems = ["The forward pass makes too many tensors to trace them all."]
        self.sites = sites = self._sites_in(graph, problems)
        is_traced = bool(sites) and not problems
        resting = self._optimizers.resting()
        self._blocks = (
            blocks_of(graph, sites, self._model, resting) if is_traced else blocks_by_name(self._model, resting)
        )
        self._evidence.graph = None if problems else graph
        for note in sites.notes:
            _warn(note)
        if is_traced and (note := self._note_on_unused_parts()):
            self.sites = sites_with_notes(sites, [*sites.notes, note])
        self._probe = Probe([site.place for site in sites], gradients=True, on_error=self._fail)
        self._probe.is_counted = self._backward.is_counted
        self._probe.early_norm_places = {
            index for index, site in enumerate(sites) if graph.nodes[site.node].overwritten
        }
        self._write_header()

    def _note_on_unused_parts(self) -> str:
        """Names what the first pass did not use, which has no sites: blocks dropped at random, experts not chosen."""
        used = {name for block in self._blocks for name in block.parameters}
        unused = [name for name in trained_matrices(self._model, self._optimizers.resting()) if name not in used]
        modules = list(dict.fromkeys(plain_name(outermost_module(name, used)) for name in unused))
        if not modules:
            return ""
        return (
            f"The first pass did not use {_listed(modules)}: sites are those of that pass, and there are none inside."
        )

    def _sites_in(self, graph: Graph, problems: Sequence[str]) -> Sites:
        """The sites of a traced pass. `problems`: reasons why sites may be missing."""
        visible = visible_graph(graph, self._compiled)
        sites = self._select_sites(graph, problems)
        visible_sites = self._select_sites(visible, problems)
        if hidden := len(sites) - len(visible_sites):
            self._runs_eagerly = self._may_run_eagerly
            if self._may_run_eagerly:
                return sites_with_notes(sites, [*sites.notes, eager_sites_note(hidden, len(sites))])
            return sites_with_notes(visible_sites, [hidden_sites_note(hidden, len(sites))])
        self._runs_eagerly = False
        scripts = [plain_name(name) for name in scripted_parts(self._model)]
        if scripts:
            problems = [*problems, f"{_listed(scripts)}: a script (torch.jit), inside which hooks see nothing."]
        if visible_sites or self._site_modules is not None:
            return sites_with_notes(visible_sites, [*visible_sites.notes, *problems]) if scripts else visible_sites
        fallback = output_sites(visible, fallback_modules(self._model), self._model)
        note = "No sites were found; `sites` names them."
        if fallback:
            note = "No residual additions were found; the blocks' outputs are recorded. `sites` names others."
            note = READ_OVER_DEPTH if reads_over_depth(visible) else note
        return sites_with_notes(fallback, [*problems, note])

    def _select_sites(self, graph: Graph, problems: Sequence[str]) -> Sites:
        if self._site_modules is not None:
            return sites_with_notes(output_sites(graph, self._site_modules, self._model), problems)
        if problems:
            return Sites()
        return find_sites(graph, self._model, hears_sums=self._is_called and not self._compiled)

    def _new_first_pass(self) -> FirstPass:
        return FirstPass(histograms=self._detail == "histograms")

    def _use_first_pass(self, tracer: Tracer) -> None:
        """Fills the first row from the traced pass, which came before the probe."""
        probe = self._probe
        if probe is None:
            return
        probe.begin()
        probe.end()
        nodes = [tracer.graph.nodes[site.node] for site in self.sites]
        probe.expect(index for index, node in enumerate(nodes) if not node.differentiable)
        self._first_pass.fill_row(self._row, self.sites)
        self._first_pass = self._new_first_pass()

    def _measure_traced(self, node: int, tensor: Tensor) -> None:
        """Measures a tensor at a boundary in the traced pass, which may turn out to be a site."""
        self._first_pass.measure(node, tensor)
        if tensor.requires_grad:
            row = self._row
            hook = tensor.register_hook(lambda grad: self._safely(lambda: self._receive_traced(row, node, grad)))
            self._undo.append(hook.remove)

    def _receive_traced(self, row: PendingRow, node: int, grad: Tensor) -> None:
        if row is self._row and self._probe is not None:
            for index, site in enumerate(self.sites):
                if site.node == node:
                    self._probe.receive((1, index), grad)

    def _collect_pass(
        self, gradients: Sequence[tuple[str, int, Tensor]] = (), early: Sequence[tuple[str, int, int, Tensor]] = ()
    ) -> None:
        """Adds the norms of the probe's tensors, and of gradients of the weights, and releases the tensors."""
        probe = self._probe
        if probe is None:
            self._row.parts += parts_of(gradients, early)
            return
        ends = [(name, 0, tensor) for name, tensor, version in self._ends if tensor._version == version]
        self._overwritten_ends |= {name for name, tensor, version in self._ends if tensor._version != version}
        self._ends = []
        measured = [*gradients, *ends]
        measured += [("grad", site, grad) for site, grad in probe.received_gradients()]
        signals: list[tuple[int, Tensor]] = []
        early_norms = list(early)
        for site, tensor in enumerate(probe.captured):
            if site in probe.early_norms and tensor is not None:
                early_norms.append(("act", site, tensor.numel(), probe.early_norms[site]))
            elif (unchanged := probe.unchanged_tensor(site)) is not None:
                signals.append((site, unchanged))
        measured += [("act", site, signal) for site, signal in signals]
        row, pass_number = self._row, probe.pass_number
        row.parts += parts_of(measured, early_norms, pass_number=pass_number)
        row.reached |= probe.reached()
        if self._is_full_step:
            row.cosines += [(pass_number, sites, cosines) for sites, cosines in cosines_of(signals)]
            row.peaks += [(pass_number, sites, peaks) for sites, peaks in peaks_of(signals)]
            if self._detail == "histograms":
                row.histograms += [(pass_number, sites, shares) for sites, shares in histograms_of(signals)]
        probe.forget()

    # --- rows ---

    def _before_update(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        """Closes the row, unless the update has a closure, which makes the passes."""
        if is_in_backward():
            self._optimizers.note_step(optimizer)
            self._closes_after_backward = self._updates_in_backward = True
            return
        has_closure = _has_closure(args, kwargs)
        if not self._begins_row(optimizer, has_closure=has_closure):
            return
        self._forget_early_measurements()
        self._update_has_closure = has_closure
        self._step_at_update = self._step
        self._backward.first_evaluation_only = has_closure and isinstance(optimizer, torch.optim.LBFGS)
        if not has_closure:
            self._close_row_and_notify()

    def _begins_row(self, optimizer: torch.optim.Optimizer, *, has_closure: bool = False) -> bool:
        """Whether the row ends at a step of an optimiser. Says so where several step in turns."""
        begins = self._optimizers.begins_row(optimizer, has_passes=has_closure or bool(self._backward.touched))
        if not begins and optimizer in self._optimizers.in_turns and not self._has_turns:
            self._has_turns = True
            self._safely(lambda: self._note(_turns_sentence(self._optimizers)))
        return begins

    def _after_update(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if is_in_backward() or optimizer is not self._optimizers.lead:
            return
        # An optimiser inside this one may have closed the row already.
        closes_row = self._update_has_closure and self._step == self._step_at_update
        if closes_row:
            self._safely(self._close_row)
        elif self._optimizers.is_alone:
            self._safely(self._measure_update)  # of several, when all have stepped
        self._backward.first_evaluation_only = False
        if closes_row:
            self._notify()

    def _before_other_update(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        """Closes the row at a step of an optimiser around ours, or inside it; passes are left to any other."""
        if optimizer in self._optimizers.watched:
            return
        if is_in_backward():
            self._updates_in_backward = True
        elif self._optimizers.is_same_update(optimizer):
            if self._passes and not _has_closure(args, kwargs):
                self._optimizers.closer = optimizer
                self._forget_early_measurements()
                self._close_row_and_notify()
        elif self._optimizers.watched:
            self._optimizers.others.add(optimizer)
            shares = not ids_of([optimizer]).isdisjoint(map(id, self._parameters.values()))
            self._open_passes -= self._backward.touched - (self._backward.counted if shares else set())

    # --- updates that no hook hears, and updates inside the backward pass ---

    def _on_compiled_update(self) -> None:
        """Notices that torch.compile compiles a step of the optimiser. Called while it does."""
        if not self._is_update_compiled:
            self._is_update_compiled = True
            self._note(
                "The optimizer's step is compiled (torch.compile), where no hook runs: a row is closed when the next "
                "forward pass begins, with gradients as the backward pass left them, before any clipping."
            )

    def _measure_before_unheard_update(self) -> None:
        """Measures weights and gradients at the end of a backward pass, because the update may not be heard."""
        self._row.first_gradients = self._gradients()
        self._set_scales(self._row, skipped=False)
        self._take_samples()

    def _forget_early_measurements(self) -> None:
        """Discards what was measured in case no hook hears the update, because one does."""
        self._samples = []
        self._row.first_gradients = []
        self._row.lr = None

    def _close_unheard_update(self) -> None:
        """Closes the row if the weights have changed in an update that is compiled."""
        if self._is_update_compiled or (self._step == 0 and self._optimizers.watched):
            versions = sum(p._version for p in self._own_parameters())
            has_changed = versions != self._weight_versions
            self._weight_versions = versions
            if self._is_update_compiled and has_changed and self._passes:
                self._close_row_and_notify()

    def _prepare_for_updates_in_backward(self) -> None:
        """Listens to gradients as they come where a hook may use and discard them, and keeps the weights before it."""
        weights = self._weights
        if weights is None or not self._is_recorded_step:
            return
        if self._updates_in_backward or weights.have_hooks():
            if not weights.is_listening:
                self._undo.append(weights.listen())
            self._take_samples()

    def _take_samples(self) -> None:
        if self._weights is not None and self._is_full_step:
            self._samples = self._weights.samples()

    def _close_row_and_notify(self) -> None:
        self._safely(self._close_row)
        self._notify()

    def _close_row(self, skipped: bool = False) -> None:
        previous = self._last_row
        self._write_last_row()
        if self._alarms is not None and previous is not None and previous.losses:
            self._alarms.check_loss(previous.step, previous.loss() or 0.0)
        if self._weights is None and not self._passes and not self._paused:
            self._notice_unheard_pass()
        if self._has_no_sites and self._weights is None:
            self._blocks = blocks_by_name(self._model, self._optimizers.resting())
            self._write_header()
        if self._is_recorded_step and self._weights is not None and (self._passes or self._has_no_sites):
            self._finish_row(self._row, self._weights, skipped)
        if self._probe is not None:
            self._probe.forget()
            self._probe.release()
        self._backward.begin_row()
        self._evidence.end_step(skipped=skipped)
        self._optimizers.begin_row()
        self._begin_step(self._step + 1)
        self._passes = 0
        self._open_passes = set()
        self._backward.is_listening = self._is_recorded_step
        if self._live is not None:
            self._live.refresh()
        failure = self._writer.failure if self._writer is not None else None
        if failure is not None:
            raise failure

    def _notice_unheard_pass(self) -> None:
        """Says that a step has no forward pass, and records the weights alone where gradients come without any."""
        has_gradient = any(p.grad is not None for p in self._own_parameters())
        self._unheard_steps += has_gradient
        if has_gradient and (self._is_called_elsewhere or self._unheard_steps > 1):
            self._has_no_sites = True
            where = self._is_called_elsewhere or (
                "where no hook runs: in part, as a copy, or compiled; compile the model first, then watch it"
            )
            self._note(f"The model is called {where}. Only loss and weights are recorded.")
        elif self._step == 0:
            _warn("a step was taken without a forward pass of the model with gradients; it is not recorded")

    def _on_compiled_call(self) -> None:
        self._is_called_elsewhere = (
            "inside what torch.compile has compiled, where no hook runs; compile the model first, then watch it: "
            "watch(torch.compile(model))"
        )

    def _on_transform(self) -> None:
        if not self._is_called_elsewhere:
            self._is_called_elsewhere = "inside a transform of torch.func, where tensors hold no numbers"

    def _note(self, sentence: str) -> None:
        """Warns, and adds a note to the header, which is written with the first row."""
        self.sites = sites_with_notes(self.sites, [*self.sites.notes, sentence])
        if self._header:
            self._header["notes"].append(sentence)
        _warn(sentence)

    def _finish_row(self, row: PendingRow, weights: Weights, skipped: bool) -> None:
        """Adds the last measurements before the update to a row."""
        if self._probe is not None and self._backward.is_assembled:
            self._probe.take_back()
            row.take_back()
        else:
            row.discarded = self._backward.discarded
        with torch.no_grad():  # a gradient has a graph of its own after create_graph
            self._collect_pass(*([], []) if row.first_gradients else weights.measured_gradients())
        row.parts += row.first_gradients or self._detailed_gradients(weights)
        weights.forget_incoming()
        if 0 <= self._gradient_version < weights.gradient_version():
            self._clips = True
        self._gradient_version = -1
        self._set_scales(row, skipped)
        self._evidence.fill_row(row, self._expected_parameters(), has_gradient=self._backward.holder is not None)
        if self._rows_closed and self._optimizers.watched:
            row.unheld = weights.unheld((*self._optimizers.watched, *self._optimizers.others), row.expected)
        self._rows_closed += 1
        row.seconds = time.monotonic() - self._start_time
        row.skipped = skipped
        row.by_optimizer = bool(self._optimizers.watched)
        self._last_row = row
        if self._alarms is not None:
            self._alarms.check_row(self._empty_recording.single_row(row.line(self._header)), self._find_operation)
        samples = self._samples
        self._samples = []
        if self._is_full_step and not skipped and not self._update_has_closure:
            self._update = (row, samples or weights.samples())
        if samples:  # the update is over
            self._measure_update()

    def _find_operation(self, quantity: str) -> str:
        """The operation that made the first non-finite number of the last pass; empty if it is unknown."""
        last_pass = self._last_pass
        self._last_pass = None
        if last_pass is None or quantity not in ("signal", "model's output") or _process_count() > 1:
            return ""  # several processes would have to repeat the pass together
        self._is_in_own_pass = True
        try:
            return last_pass.culprit(self._model)
        except Exception:
            return ""
        finally:
            self._is_in_own_pass = False

    def _notify(self) -> None:
        if self._alarms is not None:
            self._alarms.notify()

    def _set_scales(self, row: PendingRow, skipped: bool) -> None:
        """Adds the learning rate and AMP's scale to a row, as they are before the update."""
        optimizer = self._optimizers.first
        if row.lr is not None:
            return
        if optimizer is not None:
            lr = optimizer.param_groups[0].get("lr")
            row.lr = Fetch(lr.detach().clone()) if isinstance(lr, Tensor) else lr
        if self._scaler is not None and self._scaler.is_enabled():
            row.scale = Fetch(scale_of(self._scaler))
            row.weights_scaled = not skipped and not is_unscaled(self._scaler, optimizer)

    def _measure_update(self) -> None:
        """Adds the size of an update to its row, after the update."""
        if self._update is not None:
            row, samples = self._update
            self._update = None
            moved = self._optimizers.moved(samples)
            row.parts += update_norms(moved)
            row.lost = lost_shares(moved)

    def _record_loss(self, loss: Tensor | float, from_loop: bool) -> None:
        row = self._row_of_loss(loss)
        if row is None or (row.loss_from_loop and not from_loop) or self._backward.is_complete:
            return
        if row.step % self._every:
            return
        if from_loop and not row.loss_from_loop:
            row.losses = []
            row.loss_from_loop = True
            row.losses_are_shares = False
        if isinstance(loss, Tensor):
            number = loss.detach().to(torch.float32, copy=True)
            number = number.mean() if number.ndim else number
        else:
            number = torch.tensor(float(loss), dtype=torch.float64)
        row.losses.append(Fetch(number))

    def _row_of_loss(self, loss: Tensor | float) -> PendingRow | None:
        """The row of a loss: the one whose backward pass it began, else the one under way if it has open passes."""
        rows = [row for row in (self._row, self._last_row) if row is not None]
        if isinstance(loss, Tensor):
            for row in rows:
                if any(root.data_ptr() == loss.data_ptr() for root in row.root_losses):
                    return row
        if self._has_no_sites and not self._passes:
            return self._row if self._tells_first else self._last_row
        if self._weights is None and not self._passes and (self._tells_first or not self._unheard_steps):
            self._tells_first = True
            return self._row
        return self._row if self._open_passes else self._last_row

    def _on_scaler(self, scaler: Any, optimizer: Any, is_over: bool) -> None:
        """Adopts a scaler that scales this model's loss, and closes the row of an update that it skips."""
        is_ours = optimizer in self._optimizers.watched and self._optimizers.lead in (None, optimizer)
        adopts = is_ours or (optimizer is None and not self._optimizers.watched)
        if self._scaler is None and adopts and self._passes:
            self._scaler = scaler
        if scaler is not self._scaler or not is_ours:
            return
        if not is_over:
            self._step_at_update = self._step
        elif self._step == self._step_at_update and self._passes:
            self._safely(lambda: self._close_row(skipped=True))
            self._notify()

    # --- the file ---

    def _write_header(self) -> None:
        self._weights = Weights(self._model, self._blocks, self._parameters, self._optimizers.resting())
        watched = self._optimizers.watched
        parameters = (
            [p for optimizer in watched for p in parameters_of(optimizer)]
            if watched
            else list(self._model.parameters())
        )
        graph = self._evidence.graph
        loose, strays = self._weights.loose(parameters), strays_of(graph, parameters)
        line = build_header(
            self._model,
            self._optimizers.watched,
            created=self._created,
            every=self._every,
            sites=self.sites,
            blocks=self._blocks,
            meta=self._meta,
            ignored=self._ignored,
            matrices=self._weights.matrices,
            frozen=self._weights.frozen,
            graph=graph,
            unheld=[*loose, *strays],
            unheld_blocks=self._weights.blocks_of(loose),
            details=self._details(self._weights),
        )
        self._header = line
        self._empty_recording = recording_from_header(line)
        unheld = [*loose.values(), *strays.values()]
        self._evidence.begin(self._weights, line.get("calls", ()), unheld=unheld, resumed=bool(self._earlier.header))
        if self._writer is not None and self._earlier.header:
            self._has_header = self._continue_file(self._writer, self._earlier.header)

    def _continue_file(self, writer: Writer, earlier: Mapping[str, Any]) -> bool:
        """Cuts the resumed file before the present step. For other sites, opens a new file and returns False."""
        if all(earlier.get(field) == self._header.get(field) for field in FORMAT_FIELDS):
            rows = sum(step < self._step for step in self._earlier.steps)
            self._rows_written = rows
            writer.truncate(rows)
            writer.write(lambda: self._narrate_earlier(rows))
            return True
        _warn(f"{self.path} is of a model with different sites: it stays as it is, and a new recording begins")
        writer.abandon()
        self._writer = Writer(self.path)
        self.path = self._writer.path
        return False

    def _details(self, weights: Weights) -> dict[str, Any]:
        """The header's entries for `detail`."""
        if self._detail == "heads":
            return {"heads": self._heads.names, "weights": weights.trained_names}
        return {"bins": BINS} if self._detail == "histograms" else {}

    def _write_last_row(self) -> None:
        """Queues the last closed row, to which no loss comes any more."""
        row = self._last_row
        self._last_row = None
        if self._writer is not None and row is not None:
            self._queue_header(self._writer)
            is_queued = self._writer.write(lambda: self._lines_of(row))
            self._rows_written += int(is_queued)

    def _queue_header(self, writer: Writer) -> None:
        """Writes the header, with all notes until the first row."""
        if self._header and not self._has_header:
            self._has_header = True
            if note := self._note_on_foreign_blocks():
                self._header["notes"].append(note)
            header = dict(self._header)
            writer.write(lambda: [header])

    def _note_on_foreign_blocks(self) -> str:
        """Names the blocks whose matrices are in none of the optimisers that were given; empty without any."""
        ids = ids_of(self._optimizers.watched)
        names = [
            block.name
            for block in self._blocks
            if ids and ids.isdisjoint(id(self._parameters.get(name)) for name in block.parameters)
        ]
        if not names or len(names) == len(self._blocks):
            return ""
        others = ", ".join(sorted({type(other).__name__ for other in self._optimizers.others}))
        seen = f"; {others} stepped too" if others else ""
        return f"{_listed(names)}: in none of the optimizers that watch was given, so their updates are left out{seen}."

    def _lines_of(self, row: PendingRow) -> list[dict[str, Any]]:
        """The entries of a row and of its new sentences in the file. Called by the writer's thread."""
        line = row.line(self._header)
        recording = self._empty_recording.single_row(line)
        sentences, findings = self._narrator.add_row(recording, 0)
        self._sinks.log_row(recording, sentences)
        self._sinks.alert(row.step, findings)
        changes = changes_entry(sentences, findings)
        return [line, changes] if changes else [line]

    def _narrate_earlier(self, rows: int) -> list[dict[str, Any]]:
        """Passes the rows of a resumed file to the narrator. Called by the writer's thread."""
        for row in range(rows):
            self._narrator.add_row(self._earlier, row)
        return []

    def _end(self, end: str, reason: str) -> None:
        """Removes all hooks and writes the last line. Raises nothing."""
        self._safely(self._close_unheard_update)
        writer = self._writer
        self._writer = None
        if writer is None or os.getpid() != self._process:
            return
        self._is_closed = end != "recorder"
        self._remove_hooks()
        self._writer = writer  # the last rows are still to be written
        if self._weights is None:
            _ignore_errors(self._write_header)
        _ignore_errors(self._measure_update)
        _ignore_errors(self._write_last_row)
        _ignore_errors(lambda: self._queue_header(writer))
        self._writer = None
        last = {"end": end, "reason": reason[:MAX_REASON_CHARS], "rows": self._rows_written, "dropped": writer.dropped}
        if not writer.close(lambda: [last]) and end != "recorder":
            cause = _one_line(writer.failure) if writer.failure else "the disk is too slow"
            _warn(f"the end of {self.path} could not be written ({cause})")
        for problem in self._sinks.problems:
            _warn(problem)
        if end == "done" and not self._rows_written:
            _warn(f"{self.path} has no rows: give watch the optimizer, or call recorder.step() in every step")
        if self._live is not None:
            self._live.finish()

    def _remove_hooks(self) -> None:
        self._stance.close()
        atexit.unregister(self.close)
        _watched.pop(unwrap_compiled(self._model), None)
        if self._tracer is not None:
            tracer = self._tracer
            self._tracer = None
            _ignore_errors(lambda: tracer.__exit__(None, None, None))
        for undo in self._undo:
            _ignore_errors(undo)
        if self._probe is not None:
            _ignore_errors(self._probe.remove)

    # --- never in the way of the training ---

    def _safely(self, action: Callable[[], None]) -> None:
        """Runs `action`. An error ends the recording with a warning."""
        if self._writer is None or self._is_failing:
            return
        try:
            action()
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self._writer is None or self._is_failing:
            return
        self._is_failing = True
        reason = _one_line(error)
        _warn(f"the recording {self.path} ends here, training goes on: {reason}")
        self._end("recorder", reason)


def _check_arguments(
    path: Any, every: int, meta: Any, to: Sequence[Any], *, detail: str, ignore: Sequence[str]
) -> None:
    """Raises ValueError for illegal arguments of `watch`."""
    if every < 1:
        raise ValueError(f"every: {every} is not a number of steps")
    try:
        json.dumps(meta, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"meta: {error}") from None
    if detail not in get_args(Detail):
        raise ValueError(f"detail: {detail!r} is not known; there are 'heads' and 'histograms'")
    if message := unknown_rules_message(ignore):
        raise ValueError(f"ignore: {message}")
    if path is None and not to:
        raise ValueError("path: there is neither a file nor a dashboard to record to")


def _strangers_sentence(optimizers: Optimizers) -> str:
    names = ", ".join(dict.fromkeys(optimizers.strangers))
    if optimizers.watched:
        return f"optimizer: no optimizer of torch's is {names}, which no hook hears; the others are recorded"
    return "this optimizer is not one of torch's, so no hook sees it: call recorder.step() before every update"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MAX_LISTED
    return ", ".join(names[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def _turns_sentence(optimizers: Optimizers) -> str:
    others = ", ".join(type(other).__name__ for other in optimizers.in_turns)
    return (
        "The optimizers step in turns, each on passes of its own: the rows are the updates of "
        f"{type(optimizers.lead).__name__}, the first to step; those of {others} are left out. To choose, give one."
    )


def _has_closure(args: Any, kwargs: Any) -> bool:
    """Whether an update with these arguments makes passes of its own."""
    return kwargs.get("closure") is not None or any(arg is not None for arg in args[1:2])


def _is_distributed() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _rank() -> int:
    return torch.distributed.get_rank() if _is_distributed() else 0


def _process_count() -> int:
    return torch.distributed.get_world_size() if _is_distributed() else 1


def _one_line(error: Exception) -> str:
    """An error as one line of bounded length."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:MAX_REASON_CHARS]


def _ignore_errors(action: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):
        action()


def _warn(sentence: str) -> None:
    """Warns, every time, at the innermost line outside this package and torch."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("addnorm", "torch"):
        frame = frame.f_back
    module = frame.f_globals.get("__name__", "")
    warnings.warn_explicit(f"addnorm: {sentence}", UserWarning, frame.f_code.co_filename, frame.f_lineno, module)
