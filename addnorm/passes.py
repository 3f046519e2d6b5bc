"""Which backward passes a row holds: those whose gradients the update is made of, and what they were started on.

Between two updates a loop may also ask for gradients that nothing steps on: of a penalty, of an attack on the input, of
a first pass that `zero_grad` throws away. A hook on a tensor hears all of them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

# What a pass does for the parameters. In a row those of the highest rank count. ASIDE: gives them no gradient.
# WITH_GRAPH: `autograd.grad` with create_graph. ASKED: `autograd.grad`. ACCUMULATES: `backward`, into `.grad`.
ASIDE, WITH_GRAPH, ASKED, ACCUMULATES = range(4)

_listeners: list[BackwardPasses] = []
_original = torch.autograd.backward
_depth = 0  # of calls of `backward` inside one another, as reentrant checkpoints make them


def transformed() -> bool:
    """Whether this runs inside vmap, grad, jvp or another transform of torch.func, where tensors hold no numbers."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def _batched(grad: Tensor) -> bool:
    """Whether a gradient stands for many at once (`is_grads_batched`, vmap)."""
    return torch._C._functorch.is_batchedtensor(grad) or torch._C._functorch.is_legacy_batchedtensor(grad)


class BackwardPasses:
    """Tells the backward passes of a row apart, from inside their hooks.

    `trained`: the tensors that updates change. `began` is told of each pass that counts: whether the gradients so far
    count no longer, the number of the forward pass that it has come to first, and the loss that `backward` was called
    on, where that is one number. `ended`: of its end.
    """

    def __init__(
        self,
        trained: Callable[[], Iterable[Tensor]],
        began: Callable[[bool, int, Tensor | None], None],
        ended: Callable[[], None],
    ) -> None:
        self.first_alone = False  # an update evaluates its closure again and again, and the first one is the step's
        self._trained, self._began, self._ended = trained, began, ended
        self._loss: Tensor | None = None
        self._inside = False  # of a `backward` for all leaves
        self.forget()

    def forget(self) -> None:
        """Begins a row."""
        self._ranks: dict[int, int] = {}  # by the engine's number of a pass
        self._rank = ASIDE
        self._holder: Tensor | None = None  # a parameter that holds a gradient
        self._over = False  # whether a pass that counts has ended
        self._closed = False  # whether others have come that do not count any more
        self._mixed = False  # whether passes of several ranks have come
        self._left: Tensor | None = None  # the holder's gradient then
        self._version = 0  # and its version

    def counts(self, grad: Tensor, number: int) -> bool:
        """Whether this gradient, which has come to a forward pass, is of a backward pass that counts."""
        if _batched(grad):
            return False
        task = torch._C._current_graph_task_id()
        if task not in self._ranks:
            self._ranks[task] = self._rank_pass(number)
        rank = self._ranks[task]
        return rank != ASIDE and rank == self._rank

    @property
    def closed(self) -> bool:
        """Whether the row has all its passes, although others follow before the next one."""
        return self.first_alone and (self._closed or self._zeroed())

    @property
    def assembled(self) -> bool:
        """Whether the loop has put the parameters' gradients together itself since the last pass."""
        put = self._holder is not None and self._holder.grad is not self._left
        return put and self._over and not self._mixed

    def _rank_pass(self, number: int) -> int:
        """Ranks a backward pass at its first gradient; if it counts, tells `began`, and `_end` once it is over."""
        rank, holder = self._find_rank()
        if rank < max(self._rank, WITH_GRAPH):
            return rank  # it gives the parameters nothing, or an earlier pass outranks it
        zeroed = rank == ACCUMULATES and self._zeroed()
        if zeroed and self.first_alone:
            self._closed = True
            return ASIDE
        outranks = ASIDE < self._rank < rank
        replaces = zeroed or outranks
        self._mixed |= outranks
        self._rank = rank
        if replaces:
            self._over = False
        if holder is not None:
            self._holder = holder
        loss, self._loss = self._loss, None
        self._began(replaces, number, loss)
        torch.autograd.Variable._execution_engine.queue_callback(self._end)
        return rank

    def _find_rank(self) -> tuple[int, Tensor | None]:
        """The rank of the pass under way, and a parameter that it gives a gradient."""
        asked = known = False
        for parameter in self._trained():
            if not parameter.requires_grad or parameter.grad_fn is not None:
                continue
            known = True
            with torch.enable_grad():
                accumulates: Any = parameter.view_as(parameter).grad_fn.next_functions[0][0]  # type: ignore[union-attr]
            try:
                if torch._C._will_engine_execute_node(accumulates):
                    return ACCUMULATES, parameter
            except RuntimeError:  # torch raises it for a leaf that `autograd.grad` was called for
                asked = True
        if self._inside or not known:
            return ACCUMULATES, None
        return (WITH_GRAPH if torch.is_grad_enabled() else ASKED) if asked else ASIDE, None

    def _zeroed(self) -> bool:
        """Whether the gradients of the passes so far have been thrown away."""
        if not self._over or self._holder is None:
            return False
        grad = self._holder.grad
        if grad is None:
            return True
        return grad._version != self._version and not grad.is_sparse and not grad.any()

    def _end(self) -> None:
        self._over = True
        if self._holder is not None and self._holder.grad is not None:
            self._left, self._version = self._holder.grad, self._holder.grad._version
        self._ended()

    # --- what `backward` is called on ---

    def listen(self) -> Callable[[], None]:
        """Hears from now on what `backward` is called on, until the function returned is called."""
        _listeners.append(self)
        torch.autograd.backward = _backward

        def leave() -> None:
            if self in _listeners:
                _listeners.remove(self)
            if not _listeners and torch.autograd.backward is _backward:
                torch.autograd.backward = _original

        return leave

    def enter(self, tensors: Sequence[Tensor], gradients: Any, whole: bool) -> None:
        """A `backward` begins that is inside no other. `whole`: it is for all leaves."""
        self._inside, self._loss = whole, None
        if len(tensors) == 1 and tensors[0].numel() == 1 and not _batched(tensors[0]):
            given = gradients if isinstance(gradients, Tensor | None) else gradients[0]
            loss = tensors[0].detach().reshape(())
            self._loss = loss if given is None else loss * given.detach().reshape(())

    def leave(self) -> None:
        """It has ended."""
        self._inside, self._loss = False, None


def _backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> Any:
    global _depth  # noqa: PLW0603
    if torch.compiler.is_compiling() or _depth or transformed():
        return _original(tensors, grad_tensors, *args, **kwargs)
    given = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    whole = kwargs.get("inputs", args[3] if len(args) > 3 else None) is None
    heard = tuple(_listeners)
    for watcher in heard:
        with suppress(Exception):
            watcher.enter(given, grad_tensors, whole)
    _depth += 1
    try:
        return _original(tensors, grad_tensors, *args, **kwargs)
    finally:
        _depth -= 1
        for watcher in heard:
            watcher.leave()
