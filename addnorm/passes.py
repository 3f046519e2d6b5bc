"""Selects the backward passes that a row records: those whose gradients make up the update, and their losses.

Between two updates a loop may also compute gradients that no update uses: for a penalty, for an attack on the input, or
in a first pass that `zero_grad` discards. Tensor hooks run in all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

# Rank of a backward pass, by what it does with the parameters' gradients. A row records the passes of its highest rank.
NO_PARAMETERS = 0  # computes none
CREATES_GRAPH = 1  # `autograd.grad` with create_graph
RETURNS_GRADIENTS = 2  # `autograd.grad`
ACCUMULATES = 3  # `backward`, into `.grad`

Replaced = Literal["", "outranked", "zeroed"]

_listeners: list[BackwardPasses] = []
_original_backward = torch.autograd.backward


@dataclass(frozen=True, eq=False)
class Call:
    """A call of `backward`: the loss, where that is one number, its factor, and whether it goes to all leaves."""

    loss: Tensor | None
    factor: Tensor | None
    is_for_all_leaves: bool


_calls: list[Call] = []  # under way, in any thread
_calls_of_thread = threading.local()  # `stack`: those of a thread; reentrant checkpoints nest them


def _current_call() -> Call | None:
    """The call of `backward` that computes the gradients at hand; None if that cannot be told.

    The hooks of a GPU's gradients run in a thread of torch's.
    """
    stack = getattr(_calls_of_thread, "stack", None) or _calls
    return stack[-1] if len(_calls) == 1 or stack is not _calls else None


def is_in_backward() -> bool:
    """Whether this code runs inside a backward pass."""
    return bool(torch._C._current_graph_task_id() != -1)


def is_transforming() -> bool:
    """Whether this code runs inside vmap, grad, jvp or another torch.func transform, where tensors hold no numbers."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def _is_batched(grad: Tensor) -> bool:
    """Whether a tensor holds a batch of gradients (`is_grads_batched`, vmap)."""
    return torch._C._functorch.is_batchedtensor(grad) or torch._C._functorch.is_legacy_batchedtensor(grad)


class BackwardPasses:
    """Ranks the backward passes of a row from inside their hooks.

    `updated` returns the tensors that the recorded updates change, `others` further parameters of the model. With an
    optimizer of which all parameters are frozen, no pass counts. Each recorded pass calls
    `on_begin(pass_number, replaced, accumulates, call)`: the number of the first forward pass that it reaches, whether
    the gradients so far no longer count because it outranks them or they were zeroed, whether it adds to the
    parameters' gradients, and the call of `backward`, unless told before. It calls `on_end()` when it is over.
    """

    def __init__(
        self,
        updated: Callable[[], Iterable[Tensor]],
        others: Callable[[], Iterable[Tensor]],
        on_begin: Callable[[int, Replaced, bool, Call | None], None],
        on_end: Callable[[], None],
        *,
        has_optimizer: bool,
    ) -> None:
        self.first_evaluation_only = False  # whether to ignore later evaluations of the optimizer's closure
        self.touched: set[int] = set()  # forward passes of the row that any gradient has reached
        self.counted: set[int] = set()  # those that a gradient of the row has reached
        self._updated = updated
        self._others = others
        self._has_optimizer = has_optimizer
        self.on_loss: Callable[[Tensor], None] = lambda loss: None  # called before each `backward` on a single number
        self._on_begin = on_begin
        self._on_end = on_end
        self._last_call: Call | None = None
        self.is_listening = True  # to the calls of `backward`
        self.begin_row()

    def begin_row(self) -> None:
        self.touched = set()
        self.counted = set()
        self._ranks: dict[int, int] = {}  # by autograd's id of the pass
        self._rank = NO_PARAMETERS  # the highest so far
        self.discarded = 0  # times that zeroing has thrown away the gradients of another forward pass
        self._pass_number = 0  # the forward pass of the last backward pass that accumulated
        self._holder: Tensor | None = None  # a parameter that holds a gradient
        self._is_over = False  # whether a recorded pass has ended
        self._has_later_evaluation = False  # whether `first_evaluation_only` has excluded a pass
        self._has_mixed_ranks = False
        self._last_grad: Tensor | None = None  # the holder's gradient at the end of the last recorded pass
        self._last_version = 0  # the version of that gradient

    def is_counted(self, grad: Tensor, pass_number: int) -> bool:
        """Whether the row records the backward pass that computes `grad`, a gradient of forward pass `pass_number`."""
        if _is_batched(grad):
            return False
        self.touched.add(pass_number)
        task = torch._C._current_graph_task_id()
        if task not in self._ranks:
            self._ranks[task] = self._rank_pass(pass_number)
        rank = self._ranks[task]
        is_counted = rank != NO_PARAMETERS and rank == self._rank
        if is_counted:
            self.counted.add(pass_number)
        return is_counted

    @property
    def holder(self) -> Tensor | None:
        """A parameter to whose gradient the row's passes have added."""
        return self._holder

    @property
    def is_complete(self) -> bool:
        """Whether the row has all its passes already, even if more follow before the next row."""
        return self.first_evaluation_only and (self._has_later_evaluation or self._is_zeroed())

    @property
    def is_assembled(self) -> bool:
        """Whether the loop has assigned the parameters' gradients itself since the last pass."""
        is_replaced = self._holder is not None and self._holder.grad is not self._last_grad
        return is_replaced and self._is_over and not self._has_mixed_ranks

    def _rank_pass(self, pass_number: int) -> int:
        """Ranks a backward pass at its first gradient. A recorded pass calls `on_begin` now, and `on_end` when over."""
        rank, holder = self._current_rank()
        if rank < max(self._rank, CREATES_GRAPH):
            return rank  # the pass gives the parameters nothing, or an earlier one outranks it
        is_zeroed = rank == ACCUMULATES and self._is_zeroed()
        if is_zeroed and self.first_evaluation_only:
            self._has_later_evaluation = True
            return NO_PARAMETERS
        outranks = NO_PARAMETERS < self._rank < rank
        self.discarded += is_zeroed and pass_number != self._pass_number
        self._pass_number = pass_number
        replaces = is_zeroed or outranks
        self._has_mixed_ranks |= outranks
        self._rank = rank
        if replaces:
            self._is_over = False
        if holder is not None:
            self._holder = holder
        call = _current_call()
        self._on_begin(
            pass_number,
            "zeroed" if is_zeroed else "outranked" if outranks else "",
            rank == ACCUMULATES,
            None if call is self._last_call else call,
        )
        self._last_call = call
        torch.autograd.Variable._execution_engine.queue_callback(self._end)
        return rank

    def _current_rank(self) -> tuple[int, Tensor | None]:
        """The rank of the pass under way, and a parameter whose gradient it accumulates."""
        has_leaf = is_requested = False
        for parameter in self._updated():
            if parameter.requires_grad and parameter.grad_fn is None:
                has_leaf = True
                will_accumulate = _will_accumulate(parameter)
                if will_accumulate:
                    return ACCUMULATES, parameter
                is_requested |= will_accumulate is None
        call = _current_call()
        if not is_requested and (not has_leaf or (call is not None and call.is_for_all_leaves)):
            if not has_leaf and self._has_optimizer:
                return NO_PARAMETERS, None
            # Nothing of ours is trained, or all of it lies inside reentrant checkpoints, whose passes come later.
            is_for_others = any(p.requires_grad and p.grad_fn is None and _will_accumulate(p) for p in self._others())
            return (NO_PARAMETERS if is_for_others else ACCUMULATES), None
        if not is_requested:
            return NO_PARAMETERS, None
        return (CREATES_GRAPH if torch.is_grad_enabled() else RETURNS_GRADIENTS), None

    def _is_zeroed(self) -> bool:
        """Whether the loop has discarded the gradients of the passes so far."""
        if not self._is_over or self._holder is None:
            return False
        grad = self._holder.grad
        if grad is None:
            return True
        return grad._version != self._last_version and not grad.is_sparse and not grad.any()

    def _end(self) -> None:
        self._is_over = True
        if self._holder is not None and self._holder.grad is not None:
            self._last_grad = self._holder.grad
            self._last_version = self._last_grad._version
        self._on_end()

    # --- the losses that `backward` is called on ---

    def listen(self) -> Callable[[], None]:
        """Observes calls of `backward`. Returns a function that stops observing."""
        _listeners.append(self)
        torch.autograd.backward = _backward

        def remove() -> None:
            if self in _listeners:
                _listeners.remove(self)
            if not _listeners and torch.autograd.backward is _backward:
                torch.autograd.backward = _original_backward

        return remove


def _will_accumulate(leaf: Tensor) -> bool | None:
    """Whether the pass under way adds to the gradient of a leaf; None if `autograd.grad` was asked for it."""
    with torch.enable_grad():
        accumulator: Any = leaf.view_as(leaf).grad_fn.next_functions[0][0]  # type: ignore[union-attr]
    try:
        return bool(torch._C._will_engine_execute_node(accumulator))
    except RuntimeError:  # torch raises this for a leaf among the inputs of `autograd.grad`
        return None


def _call_of(roots: Sequence[Tensor], gradients: Any, is_for_all_leaves: bool) -> Call:
    loss = factor = None
    if len(roots) == 1 and roots[0].numel() == 1 and not _is_batched(roots[0]) and not is_in_backward():
        loss = roots[0].detach().reshape(())
        gradient = gradients if isinstance(gradients, Tensor | None) else gradients[0]
        factor = None if gradient is None else gradient.detach().reshape(())
    return Call(loss, factor, is_for_all_leaves)


def _backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> Any:
    if torch.compiler.is_compiling() or not any(p.is_listening for p in _listeners) or is_transforming():
        return _original_backward(tensors, grad_tensors, *args, **kwargs)
    inputs = kwargs.get("inputs", args[3] if len(args) > 3 else None)
    call = Call(None, None, inputs is None)
    with suppress(Exception):
        call = _call_of((tensors,) if isinstance(tensors, Tensor) else tuple(tensors), grad_tensors, inputs is None)
    if not hasattr(_calls_of_thread, "stack"):
        _calls_of_thread.stack = []
    if call.loss is not None:
        root = tensors if isinstance(tensors, Tensor) else next(iter(tensors))
        for listener in tuple(_listeners):
            with suppress(Exception):
                listener.on_loss(root)
    _calls_of_thread.stack.append(call)
    _calls.append(call)
    try:
        return _original_backward(tensors, grad_tensors, *args, **kwargs)
    finally:
        _calls_of_thread.stack.remove(call)
        _calls.remove(call)
