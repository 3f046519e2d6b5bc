"""`watch`: records what happens along the residual stream
of any model while it trains, and never stops the training.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.metadata
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from addnorm.format import VERSION
from addnorm.probe import Hook, Probe, joined, norms
from addnorm.rows import Fetch, Part, Row, Rows, parts_of
from addnorm.sites import (
    Block,
    blocks_by_name,
    blocks_of,
    chosen_modules,
    find_sites,
    noted,
    offered,
    outputs_of,
)
from addnorm.trace import Tracer
from addnorm.writer import Writer

Wanted = Literal["auto"] | str | Iterable[str] | Mapping[str, nn.Module]

SAMPLE = 65_536  # numbers of a matrix that are compared before and after an update; of larger ones an even sample
UPDATES = 64  # steps between two looks at the size of an update, once a run is on its way
LONGEST = 500  # characters of an error that are kept

_watched: WeakKeyDictionary[nn.Module, Tape] = WeakKeyDictionary()


def watch(
    model: nn.Module,
    path: str | os.PathLike[str],
    *,
    optimizer: torch.optim.Optimizer | None = None,
    scaler: Any = None,
    every: int = 1,
    sites: Wanted = "auto",
    meta: Mapping[str, Any] | None = None,
) -> Tape:
    """Records activation and gradient along the stream of `model` to a file that others can read while it grows.

    A row is closed by every update of `optimizer`, before the weights change, or by `tape.step()` where none is given.
    `scaler`: AMP's, whose scale is divided out. `every`: how many steps to a row. `sites`: "auto", globs of module
    names, or modules by the names they shall have. `meta`: what to keep in the header, as JSON. Where there is a file
    already, the next free name is taken (`tape.path`). Raises ValueError for arguments that make no sense; anything
    else that goes wrong is one warning, and the training goes on.
    """
    return Tape(model, path, optimizer=optimizer, scaler=scaler, every=every, sites=sites, meta=meta)


def unwatch(model: nn.Module) -> None:
    """Ends the recording of a model, if there is one."""
    if (tape := _watched.get(bare(model))) is not None:
        tape.close()


def bare(model: nn.Module) -> nn.Module:
    """A model without the wrapper of DistributedDataParallel."""
    return model.module if isinstance(model, nn.parallel.DistributedDataParallel) else model


class Tape:
    """A recording while it is made. Use it as a context manager, or `close` it.

    `called`: whether a forward pass is a call of the model; else `begin_pass` and `end_pass` say where one is.
    """

    def __init__(
        self,
        model: nn.Module,
        path: str | os.PathLike[str],
        *,
        optimizer: torch.optim.Optimizer | None = None,
        scaler: Any = None,
        every: int = 1,
        sites: Wanted = "auto",
        meta: Mapping[str, Any] | None = None,
        called: bool = True,
    ) -> None:
        if every < 1:
            raise ValueError(f"every: {every} is no number of steps")
        try:
            json.dumps(meta, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"meta: {error}") from None
        self.path = Path(path)
        self.sites = noted((), ())
        self._model = bare(model)
        self._optimizer, self._scaler = optimizer, scaler
        self._every, self._meta = every, dict(meta or {})
        self._chosen = None if isinstance(sites, str) and sites == "auto" else chosen_modules(self._model, sites)
        self._began = time.monotonic()
        self._blocks: list[Block] = []
        self._matrices: list[tuple[int, nn.Parameter]] = []  # the weights of the blocks
        self._others: list[nn.Parameter] = []  # biases, gains and what is in no block
        self._probe: Probe | None = None
        self._tracer: Tracer | None = None
        self._first: dict[int, Part] = {}  # what the traced pass measured, by node
        self._first_sites: dict[int, int] = {}  # the nodes that turned out to be sites
        self._rows = Rows(self._write)
        self._row = Row(0)
        self._newest: Row | None = None  # the last row that was closed, for a loss that is told later
        self._before: tuple[Row, list[tuple[int, nn.Parameter, Tensor]]] | None = (
            None  # weights, sampled before an update
        )
        self._steps = self._written = 0
        self._passes = 0
        self._failing = self._closure = self._compiled = False
        self._process = os.getpid()
        self._undo: list[Callable[[], object]] = []
        self._writer: Writer | None = None
        self._headed = False
        if _rank() == 0:  # the first process writes, for all
            self._start(called)

    def _start(self, called: bool) -> None:
        """Opens the file and hooks the model, or says in a sentence why not."""
        if (earlier := _watched.get(self._model)) is not None:
            _say(f"this model was being watched already; the recording {earlier.path} ends here")
            earlier.close()
        if refusal := refused(self._model):
            _say(f"{refusal} Nothing is recorded.")
            return
        try:
            self._writer = Writer(self.path)
        except OSError as error:
            _say(f"{self.path} cannot be written ({error.strerror or error}). Nothing is recorded.")
            return
        self.path = self._writer.path
        _watched[self._model] = self
        self._compiled = is_compiled(self._model)
        if self._compiled:
            _say(
                "this model was compiled before it was watched, so that hooks see nothing inside it: no sites are "
                "recorded"
            )
        if called:
            self._hook(self._model)
        if self._optimizer is not None:
            self._undo.append(self._optimizer.register_step_pre_hook(self._before_update).remove)
            self._undo.append(self._optimizer.register_step_post_hook(self._after_update).remove)
            if self._scaler is not None:
                self._watch_skips(self._scaler)
        atexit.register(self.close)

    def __enter__(self) -> Self:
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
        """Closes the row of a step, before the weights change: for training without an optimiser of torch's."""
        if loss is not None:
            self._safely(lambda: self._tell_loss(loss, own=True))
        self._safely(self._close_row)

    def close(self) -> None:
        """Ends the recording and takes everything off the model. A second time does nothing."""
        self._end("done", "")

    # --- forward passes ---

    def begin_pass(self, *_hook: Any) -> None:
        """A forward pass begins. Only loops that do not call the model itself say so themselves."""
        self._safely(self._begin_pass)

    def end_pass(self, output: Any = None) -> None:
        """The forward pass is over. A loss in its output is taken unless another is told."""
        self._safely(lambda: self._end_pass(output))

    def _hook(self, model: nn.Module) -> None:
        before = model.register_forward_pre_hook(Hook(self.begin_pass))
        after = model.register_forward_hook(
            Hook(lambda _model, _inputs, output: self.end_pass(output)), always_call=True
        )
        self._undo += [before.remove, after.remove]

    def _begin_pass(self) -> None:
        self._weights_after()
        wanted = torch.is_grad_enabled() and not self._compiled
        if not wanted or self._steps % self._every:
            self._listen(False)
        elif not self._headed:
            if self._tracer is None:
                self._tracer = Tracer(self._model, self._measure_once)
                self._tracer.__enter__()
        elif self._probe is not None:
            self._fold()
            self._listen(True)
            self._probe.begin()

    def _end_pass(self, output: Any) -> None:
        if not torch.is_grad_enabled():
            self._listen(self._steps % self._every == 0)  # what checkpointing computes again is still to be seen
            return
        self._passes += 1
        if self._tracer is not None:
            tracer, self._tracer = self._tracer, None
            tracer.__exit__(None, None, None)
            if output is None and sys.exc_info()[0] is not None:
                self._first = {}  # the forward pass failed: the next one is traced
                return
            self._found(tracer)
        elif self._probe is not None:
            self._probe.end()
        loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
        if isinstance(loss, Tensor) and not self._row.own_loss:
            self._tell_loss(loss, own=False)

    def _listen(self, on: bool) -> None:
        if self._probe is not None:
            self._probe.listening = on

    def _found(self, tracer: Tracer) -> None:
        """Sites and blocks from the traced pass, hooks for all further ones, and the first row's numbers."""
        graph = tracer.graph
        whole = tracer.failure is None and not graph.too_large
        lost = [f"The forward pass could not be traced: {_short(tracer.failure)}"] if tracer.failure else []
        if self._chosen is not None:
            sites = noted(outputs_of(graph, self._chosen, self._model), lost)
        elif not whole or not (sites := find_sites(graph, self._model)):
            blocks = outputs_of(graph, offered(self._model), self._model)
            said = (
                "No residual additions were found; the outputs of the model's blocks are recorded. Others are named by "
                "`sites`."
            )
            sites = noted(blocks, [*lost, said if blocks else "No sites were found; they are named by `sites`."])
        self.sites = sites
        self._blocks = blocks_of(graph, sites, self._model) if whole else blocks_by_name(self._model)
        for note in sites.notes:
            _say(note)
        nodes = {node.at: node for node in graph.nodes}
        self._probe = Probe([site.place for site in sites], gradients=True, failed=self._fail)
        self._probe.at_once = {at for at, site in enumerate(sites) if nodes[site.node].overwritten}
        self._probe.begin()
        self._probe.end()
        self._probe.expect(at for at, site in enumerate(sites) if not nodes[site.node].differentiable)
        self._first_sites = {site.node: at for at, site in enumerate(sites)}
        for node, at in self._first_sites.items():
            if (part := self._first.get(node)) is not None:
                self._row.parts.append(Part(part.fetch, [("act", at, count) for _, _, count in part.targets]))
        self._first = {}
        self._head()

    def _measure_once(self, node: int, tensor: Tensor) -> None:
        """Any tensor at a boundary may turn out to be a site, so in the traced pass all are measured."""
        (self._first[node],) = parts_of([("act", 0, tensor.detach())])
        if tensor.requires_grad:
            row = self._row
            hook = tensor.register_hook(lambda grad: self._safely(lambda: self._first_gradient(row, node, grad)))
            self._undo.append(hook.remove)

    def _first_gradient(self, row: Row, node: int, grad: Tensor) -> None:
        if row is self._row and (at := self._first_sites.get(node)) is not None:
            row.parts += parts_of([("grad", at, grad.detach())])

    def _fold(self) -> None:
        """Turns what the probe holds of a pass into norms, so that its tensors can go."""
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
        self._row.parts += parts_of(measured, already)
        probe.forget()

    # --- rows ---

    def _before_update(self, _optimizer: Any, args: Any, kwargs: Any) -> None:
        """Of an update with a closure the passes are still to come; its row is closed after it."""
        self._closure = kwargs.get("closure") is not None or any(arg is not None for arg in args[1:2])
        if not self._closure:
            self._safely(self._close_row)

    def _after_update(self, _optimizer: Any, _args: Any, _kwargs: Any) -> None:
        self._safely(self._close_row if self._closure else self._weights_after)

    def _close_row(self, skipped: bool = False) -> None:
        row, wanted = self._row, self._steps % self._every == 0
        self._newest = None
        if self._compiled and not self._headed:
            self._blocks = blocks_by_name(self._model)
            self._head()
        if wanted and self._headed and (self._passes or self._compiled):
            self._fold()
            self._weigh(row, skipped)
            row.seconds, row.skipped = time.monotonic() - self._began, skipped
            self._rows.add(row)
            self._newest = row
            if not skipped and not self._closure and _update_is_measured(self._steps, self._every):
                self._before = (row, [(at, p, _sample(p).clone()) for at, p in self._matrices])
        elif wanted and not self._passes and self._steps == 0:
            _say("a step was taken without a forward pass of the model with gradients; it is not recorded")
        if self._probe is not None:
            self._probe.forget()
            self._probe.release()
        self._steps += 1
        self._passes = 0
        self._row = Row(self._steps)
        failure = self._writer.failure if self._writer is not None else None
        if failure is not None:
            raise failure

    def _weigh(self, row: Row, skipped: bool) -> None:
        """Gradients of the weights, learning rate and AMP's scale, as they are before the update."""
        measured = [("weight_grad", at, p.grad.detach()) for at, p in self._matrices if p.grad is not None]
        others = [p.grad.detach() for p in self._others if p.grad is not None]
        row.parts += parts_of([*measured, *(("other_grad", 0, grad) for grad in joined_by_kind(others))])
        if self._optimizer is not None:
            lr = self._optimizer.param_groups[0].get("lr")
            row.lr = Fetch(lr.detach().clone()) if isinstance(lr, Tensor) else lr
        if self._scaler is not None and self._scaler.is_enabled():
            scale = getattr(self._scaler, "_scale", None)
            scale = (
                scale.detach().clone() if isinstance(scale, Tensor) else torch.tensor(float(self._scaler.get_scale()))
            )
            row.scale = Fetch(scale)
            row.weights_scaled = not skipped and not _unscaled(self._scaler, self._optimizer)

    def _weights_after(self) -> None:
        """How far the update has moved the weights, of the row before it."""
        if self._before is None:
            return
        (row, before), self._before = self._before, None
        by_device: dict[torch.device, list[tuple[int, nn.Parameter, Tensor]]] = {}
        for found in before:
            by_device.setdefault(found[2].device, []).append(found)
        for group in by_device.values():
            changes = [
                _sample(p).double() - old.double() if old.device.type == "cpu" else _sample(p).float() - old.float()
                for _, p, old in group
            ]
            targets = [(name, at, old.numel()) for name in ("change", "old") for at, _, old in group]
            factors = [p.numel() / max(1, old.numel()) for _, p, old in group] * 2
            row.parts.append(Part(Fetch(norms([*changes, *(old for *_, old in group)])), targets, factors))

    def _tell_loss(self, loss: Tensor | float, own: bool) -> None:
        row = self._row if self._passes else self._newest
        if row is None or (row.own_loss and not own):
            return
        if own and not row.own_loss:
            row.losses, row.own_loss = [], True
        value = (
            loss.detach().float().mean() if isinstance(loss, Tensor) else torch.tensor(float(loss), dtype=torch.float64)
        )
        row.losses.append(Fetch(value.clone()))

    def _watch_skips(self, scaler: Any) -> None:
        """AMP leaves an update out where gradients are not finite,
        and says so to nobody: its row is closed all the same.
        """
        step = scaler.step

        def stepped(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            before = self._steps
            result = step(optimizer, *args, **kwargs)
            if optimizer is self._optimizer and self._steps == before:
                self._safely(lambda: self._close_row(skipped=True))
            return result

        scaler.step = stepped
        self._undo.append(lambda: scaler.__dict__.pop("step", None))

    # --- the file ---

    def _head(self) -> None:
        self._headed = True
        named = dict(self._model.named_parameters())
        self._matrices = [(at, named[name]) for at, block in enumerate(self._blocks) for name in block.parameters]
        in_blocks = {id(p) for _, p in self._matrices}
        self._others = [p for p in named.values() if id(p) not in in_blocks]
        header = self._header()
        if self._writer is not None:
            self._writer.write(lambda: header)

    def _header(self) -> dict[str, Any]:
        parameters = list(self._model.parameters())
        sizes = {name: p.numel() for name, p in self._model.named_parameters()}
        group = self._optimizer.param_groups[0] if self._optimizer is not None else {}
        plain = {key: value for key, value in group.items() if isinstance(value, int | float | str) and key != "params"}
        first = parameters[0] if parameters else torch.empty(0)
        return {
            "addnorm": VERSION,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "model": type(self._model).__name__,
            "parameters": sum(sizes.values()),
            "trained": sum(p.numel() for p in parameters if p.requires_grad),
            "dtype": str(first.dtype).removeprefix("torch."),
            "device": str(first.device),
            "optimizer": {"name": type(self._optimizer).__name__, **plain} if self._optimizer is not None else None,
            "every": self._every,
            "sites": [
                {
                    "name": site.name,
                    "kind": site.kind,
                    "module": site.module,
                    "side": site.place.side,
                    "key": site.place.key,
                    "call": site.place.call,
                    "shape": list(site.shape),
                    "dtype": site.dtype,
                }
                for site in self.sites
            ],
            "blocks": [
                {"name": block.name, "site": block.site, "parameters": sum(sizes[name] for name in block.parameters)}
                for block in self._blocks
            ],
            "notes": list(self.sites.notes),
            "versions": {"addnorm": _version(), "torch": torch.__version__, "python": platform.python_version()},
            "meta": self._meta,
        }

    def _write(self, row: Row) -> None:
        sites, blocks = len(self.sites), len(self._blocks)
        if self._writer is not None:
            self._written += self._writer.write(lambda: row.line(sites, blocks))

    def _end(self, how: str, reason: str) -> None:
        """Takes everything off the model and writes the last line. Nothing that goes wrong here gets out."""
        writer, self._writer = self._writer, None
        if writer is None or os.getpid() != self._process:
            return
        atexit.unregister(self.close)
        _watched.pop(self._model, None)
        if self._tracer is not None:
            tracer, self._tracer = self._tracer, None
            _quietly(lambda: tracer.__exit__(None, None, None))
        for undo in [*self._undo, *([self._probe.remove] if self._probe else [])]:
            _quietly(undo)
        self._writer = writer
        if not self._headed:
            _quietly(self._head)
        _quietly(self._weights_after)
        _quietly(self._rows.finish)
        self._writer = None
        dropped = writer.dropped + self._rows.dropped
        last = {"end": how, "reason": reason[:LONGEST], "rows": self._written, "dropped": dropped}
        if not writer.close(lambda: last) and how != "recorder":
            why = _short(writer.failure) if writer.failure else "the disk is too slow"
            _say(f"the end of {self.path} could not be written ({why})")
        if how == "done" and not self._written:
            _say(f"{self.path} has no rows: give watch the optimizer, or call tape.step() in every step")

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


def refused(model: nn.Module) -> str:
    """Why a model cannot be watched, in a sentence; empty where it can."""
    kinds = {kind.__name__ for module in model.modules() for kind in type(module).__mro__}
    if kinds & {"FullyShardedDataParallel", "FSDPModule"} or any(
        type(p).__name__ == "DTensor" for p in model.parameters()
    ):
        return (
            "This model is split over processes (FSDP), so that no process has a whole weight or gradient to measure."
        )
    if "DataParallel" in kinds:
        return (
            "This model is copied in every step (DataParallel), and the copies cannot be watched; "
            "DistributedDataParallel can."
        )
    if "ScriptModule" in kinds:
        return "This model is a script (torch.jit), inside which hooks see nothing."
    return ""


def is_compiled(model: nn.Module) -> bool:
    """Whether torch.compile has been asked to compile a model or a part of it."""
    return any(
        hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) for module in model.modules()
    )


def joined_by_kind(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Small tensors of one device and dtype in one row each, large ones as they are: fewer kernels."""
    groups: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
    found = []
    for tensor in tensors:
        if tensor.is_sparse or tensor.numel() > SAMPLE:
            found.append(tensor)
        else:
            groups.setdefault((tensor.device, tensor.dtype), []).append(tensor)
    return found + [joined(group) for group in groups.values()]


def _sample(parameter: nn.Parameter) -> Tensor:
    flat = parameter.detach().flatten()
    return flat[:: -(-flat.numel() // SAMPLE) or 1]


def _update_is_measured(step: int, every: int) -> bool:
    """Early steps close together, then one in so many."""
    row = step // every
    return row % UPDATES == 0 or (row < UPDATES and row & (row - 1) == 0)


def _unscaled(scaler: Any, optimizer: Any) -> bool:
    """Whether AMP's scale has been taken off the gradients of the weights."""
    states = getattr(scaler, "_per_optimizer_states", {})
    chosen = [states[id(optimizer)]] if id(optimizer) in states else list(states.values())
    return any(getattr(state.get("stage"), "name", "") == "UNSCALED" for state in chosen)


def _rank() -> int:
    """Which of several processes this is."""
    return (
        torch.distributed.get_rank() if torch.distributed.is_available() and torch.distributed.is_initialized() else 0
    )


def _version() -> str:
    try:
        return importlib.metadata.version("addnorm")
    except importlib.metadata.PackageNotFoundError:
        return "of a clone"


def _short(error: Exception) -> str:
    """An error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]


def _quietly(work: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):
        work()


def _say(sentence: str) -> None:
    warnings.warn(f"addnorm: {sentence}", stacklevel=2)
