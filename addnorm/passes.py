"""Which backward passes a row records: those whose gradients make up the update, and the losses they start from.

Between two updates a loop may also compute gradients that no update uses: for a penalty, for an attack on the input, or
in a first pass that `zero_grad` throws away. Tensor hooks run in all of these alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

# Rank of a backward pass, by what it does for the parameters. A row records the passes of its highest rank.
NO_PARAMETERS = 0  # gives them no gradient
CREATES_GRAPH = 1  # `autograd.grad` with create_graph
RETURNS_GRADIENTS = 2  # `autograd.grad`
ACCUMULATES = 3  # `backward`, into `.grad`

_listeners: list[BackwardPasses] = []
_original_backward = torch.autograd.backward
_depth = 0  # of nested calls of `backward`, as reentrant checkpoints make them


def is_transforming() -> bool:
    """Whether this code runs inside vmap, grad, jvp or another torch.func transform, where tensors hold no numbers."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def _is_batched(grad: Tensor) -> bool:
    """Whether a gradient stands for many at once (`is_grads_batched`, vmap)."""
    return torch._C._functorch.is_batchedtensor(grad) or torch._C._functorch.is_legacy_batchedtensor(grad)


class BackwardPasses:
    """Ranks the backward passes of a row from inside their hooks.

    `trained`: the tensors that updates change. `on_begin` is called for each pass that counts with: whether it replaces
    all gradients so far, the number of the first forward pass that it reaches, and the loss that `backward` was called
    on if that is one number. `on_end` is called when such a pass is over.
    """

    def __init__(
        self,
        trained: Callable[[], Iterable[Tensor]],
        on_begin: Callable[[bool, int, Tensor | None], None],
        on_end: Callable[[], None],
    ) -> None:
        self.first_alone = False  # only the first evaluation of the update's closure counts
        self._trained = trained
        self._on_begin = on_begin
        self._on_end = on_end
        self._loss: Tensor | None = None
        self._is_for_all_leaves = False  # inside a `backward` without `inputs`
        self.forget()

    def forget(self) -> None:
        """Begins a row."""
        self._ranks: dict[int, int] = {}  # by autograd's number of a pass
        self._rank = NO_PARAMETERS
        self._holder: Tensor | None = None  # a parameter that holds a gradient
        self._is_over = False  # a pass that counts has ended
        self._is_complete = False  # with `first_alone`: a later pass has come, which does not count
        self._has_mixed_ranks = False
        self._last_grad: Tensor | None = None  # the holder's gradient at the end of the last pass
        self._last_version = 0  # and its version

    def is_counted(self, grad: Tensor, pass_number: int) -> bool:
        """Whether a gradient belongs to a backward pass that counts. `pass_number`: of the forward pass."""
        if _is_batched(grad):
            return False
        task = torch._C._current_graph_task_id()
        if task not in self._ranks:
            self._ranks[task] = self._rank_pass(pass_number)
        rank = self._ranks[task]
        return rank != NO_PARAMETERS and rank == self._rank

    @property
    def is_complete(self) -> bool:
        """Whether the row has all its passes, although more follow before the next row."""
        return self.first_alone and (self._is_complete or self._is_zeroed())

    @property
    def is_assembled(self) -> bool:
        """Whether the loop itself has put the parameters' gradients together since the last pass."""
        is_replaced = self._holder is not None and self._holder.grad is not self._last_grad
        return is_replaced and self._is_over and not self._has_mixed_ranks

    def _rank_pass(self, pass_number: int) -> int:
        """Ranks a backward pass at its first gradient. A pass that counts calls `on_begin` now and `_end` when over."""
        rank, holder = self._current_rank()
        if rank < max(self._rank, CREATES_GRAPH):
            return rank  # it gives the parameters nothing, or an earlier pass outranks it
        is_zeroed = rank == ACCUMULATES and self._is_zeroed()
        if is_zeroed and self.first_alone:
            self._is_complete = True
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
            except RuntimeError:  # torch raises it for a leaf that `autograd.grad` was called for
                is_requested = True
        if self._is_for_all_leaves or not has_leaf:
            return ACCUMULATES, None
        if not is_requested:
            return NO_PARAMETERS, None
        return (CREATES_GRAPH if torch.is_grad_enabled() else RETURNS_GRADIENTS), None

    def _is_zeroed(self) -> bool:
        """Whether the gradients of the passes so far have been thrown away."""
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

    # --- what `backward` is called on ---

    def listen(self) -> Callable[[], None]:
        """Observes calls of `backward`. Returns a function that ends this."""
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
