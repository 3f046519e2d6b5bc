"""Selects the backward passes that a row records: those whose gradients make up the update, and their losses.

Between two updates a loop may also compute gradients that no update uses: for a penalty, for an attack on the input, or
in a first pass that `zero_grad` discards. Tensor hooks run in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

# Rank of a backward pass, by what it does with the parameters' gradients. A row records the passes of its highest rank.
NO_PARAMETERS = 0  # computes none
CREATES_GRAPH = 1  # `autograd.grad` with create_graph
RETURNS_GRADIENTS = 2  # `autograd.grad`
ACCUMULATES = 3  # `backward`, into `.grad`

_listeners: list[BackwardPasses] = []
_original_backward = torch.autograd.backward
_depth = 0  # number of nested calls of `backward`; reentrant checkpoints nest them


def is_transforming() -> bool:
    """Whether this code runs inside vmap, grad, jvp or another torch.func transform, where tensors hold no numbers."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def _is_batched(grad: Tensor) -> bool:
    """Whether a tensor holds a batch of gradients (`is_grads_batched`, vmap)."""
    return torch._C._functorch.is_batchedtensor(grad) or torch._C._functorch.is_legacy_batchedtensor(grad)


class BackwardPasses:
    """Ranks the backward passes of a row from inside their hooks.

    `trained` returns the tensors that updates change. Each recorded pass calls `on_begin(replaces, pass_number, loss)`:
    whether it replaces all gradients so far, the number of the first forward pass that it reaches, and the loss that
    `backward` was called on, None unless that is a single number. It calls `on_end()` when it is over.
    """

    def __init__(
        self,
        trained: Callable[[], Iterable[Tensor]],
        on_begin: Callable[[bool, int, Tensor | None], None],
        on_end: Callable[[], None],
    ) -> None:
        self.first_evaluation_only = False  # whether to ignore later evaluations of the optimizer's closure
        self._trained = trained
        self._on_begin = on_begin
        self._on_end = on_end
        self._loss: Tensor | None = None
        self._is_for_all_leaves = False  # inside a `backward` without `inputs`
        self.begin_row()

    def begin_row(self) -> None:
        self._ranks: dict[int, int] = {}  # by autograd's id of the pass
        self._rank = NO_PARAMETERS  # the highest so far
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
        task = torch._C._current_graph_task_id()
        if task not in self._ranks:
            self._ranks[task] = self._rank_pass(pass_number)
        rank = self._ranks[task]
        return rank != NO_PARAMETERS and rank == self._rank

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
        replaces = is_zeroed or outranks
        self._has_mixed_ranks |= outranks
        self._rank = rank
        if replaces:
            self._is_over = False
        if holder is not None:
            self._holder = holder
        loss = self._loss
        self._loss = None
        self._on_begin(replaces, pass_number, loss)
        torch.autograd.Variable._execution_engine.queue_callback(self._end)
        return rank

    def _current_rank(self) -> tuple[int, Tensor | None]:
        """The rank of the pass under way, and a parameter whose gradient it accumulates."""
        has_leaf = is_requested = False
        for parameter in self._trained():
            if not parameter.requires_grad or parameter.grad_fn is not None:
                continue
            has_leaf = True
            with torch.enable_grad():
                accumulator: Any = parameter.view_as(parameter).grad_fn.next_functions[0][0]  # type: ignore[union-attr]
            try:
                if torch._C._will_engine_execute_node(accumulator):
                    return ACCUMULATES, parameter
            except RuntimeError:  # torch raises this for a leaf among the inputs of `autograd.grad`
                is_requested = True
        if self._is_for_all_leaves or not has_leaf:
            return ACCUMULATES, None
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

    def begin_call(self, tensors: Sequence[Tensor], gradients: Any, is_for_all_leaves: bool) -> None:
        """Notes an outermost call of `backward` and its loss."""
        self._is_for_all_leaves = is_for_all_leaves
        self._loss = None
        if len(tensors) == 1 and tensors[0].numel() == 1 and not _is_batched(tensors[0]):
            gradient = gradients if isinstance(gradients, Tensor | None) else gradients[0]
            loss = tensors[0].detach().reshape(())
            self._loss = loss if gradient is None else loss * gradient.detach().reshape(())

    def end_call(self) -> None:
        self._is_for_all_leaves = False
        self._loss = None


def _backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> Any:
    global _depth  # noqa: PLW0603
    if torch.compiler.is_compiling() or _depth or is_transforming():
        return _original_backward(tensors, grad_tensors, *args, **kwargs)
    roots = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    inputs = kwargs.get("inputs", args[3] if len(args) > 3 else None)
    listeners = tuple(_listeners)
    for listener in listeners:
        with suppress(Exception):
            listener.begin_call(roots, grad_tensors, inputs is None)
    _depth += 1
    try:
        return _original_backward(tensors, grad_tensors, *args, **kwargs)
    finally:
        _depth -= 1
        for listener in listeners:
            listener.end_call()
