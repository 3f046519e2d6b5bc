"""Watches tensors at the boundaries of modules while a model trains, without ever waiting for the device.

A hook at every place keeps a reference to the tensor, and to its gradient when that comes; one batched read turns them
into norms. Nothing is copied, and the arithmetic of the training does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from addnorm.compiled import around, in_place
from addnorm.passes import transformed

STACKED = 4096  # numbers in a tensor up to which stacking is cheaper than a kernel for each
LONG = 1 << 20  # numbers above which a float32 sum of squares loses digits
SMALLEST, LARGEST = 1e-15, 1e15  # norms whose squares float32 holds

Key = int | str | None


@dataclass(frozen=True)
class Place:
    """A tensor at the boundary of a module: an output or input of its nth call in a forward pass.

    `key` says which of several it is: an index, a name, or None for the only one. `whole`: the module gets or gives a
    view, and watched is what that is a view of.
    """

    module: nn.Module
    side: str = "output"
    key: Key = None
    call: int = 0
    whole: bool = False

    def tensor(self, value: Any) -> Tensor | None:
        """What is watched, from what the module gets or gives there; None where that is no tensor or no view."""
        if not isinstance(value, Tensor):
            return None
        return value._base if self.whole else value


class Hook:
    """A hook that hears the passes of training alone. Copied or pickled it is one of Python's own that does nothing."""

    def __init__(self, call: Callable[..., None], *first: Any) -> None:
        self._call, self._first = call, first

    def __call__(self, *args: Any) -> None:
        # What is compiled after `watch` is compiled as if it were not watched.
        if not torch.compiler.is_compiling() and not transformed():
            self._call(*self._first, *args)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (nullcontext(), "__exit__")


class Probe:
    """Keeps the tensors of the last forward pass at some places, and the gradients that came back to them.

    `begin` and `end` bracket a pass where a module may be called twice, or again by checkpointing after the pass.
    Without them every call counts. `failed` is called with our own errors, which then do not reach the training.
    """

    def __init__(
        self,
        places: Sequence[Place],
        *,
        gradients: bool,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        self.places = tuple(places)
        self.gradients = gradients
        self.listening = True
        # Places whose tensor is overwritten later, so that its norm is taken on the spot.
        self.at_once: set[int] = set()
        # Asked of each gradient that comes, with the number of its forward pass; None takes all.
        self.counts: Callable[[Tensor, int], bool] | None = None
        self._on_tensors: list[RemovableHandle] = []  # to be removed, because an input may come a second time
        self.number = 0  # of the forward pass
        self.forget()
        self._attached = True
        self._failed = failed
        self._within: bool | None = None
        self._calls: dict[nn.Module, int] = {}
        self._unhook = self._hooked()

    def tensors(self) -> list[Tensor]:
        """The tensors at the places, in their order."""
        return [tensor for tensor in self.seen if tensor is not None]

    def grads(self) -> list[Tensor]:
        """The gradient of the loss at each place, after `backward`."""
        return [grad for _, grad in sorted(self.received_at(), key=lambda pair: pair[0])]

    def received_at(self) -> list[tuple[int, Tensor]]:
        """All gradients with their places, several to a place where several passes share a `backward`."""
        return [(at, grad) for (_, at), grad in self._received.items()]

    def reached(self) -> set[int]:
        """The numbers of the forward passes to which gradients have come."""
        return {number for number, _ in self._received}

    def put_aside(self, number: int) -> list[tuple[int, Tensor]]:
        """Puts the gradients so far aside, for others that now come to a forward pass; `take_back` adds them to these.

        Returns, with their places, those of other forward passes, which are no part of the same sum.
        """
        same = {where: grad for where, grad in self._received.items() if where[0] == number}
        others = [(at, grad) for (one, at), grad in self._received.items() if one != number]
        self._aside.update(_added(self._aside, same))
        self._received.clear()
        return others

    def take_back(self) -> None:
        """Adds what was kept aside, which counts after all."""
        self._received.update(_added(self._received, self._aside))
        self._aside.clear()

    def forget(self) -> None:
        """Lets the tensors of the last pass be freed. Its gradients are still kept when they come."""
        self.seen: list[Tensor | None] = [None] * len(self.places)
        self._received: dict[tuple[int, int], Tensor] = {}  # by pass and place
        self._aside: dict[tuple[int, int], Tensor] = {}
        self.number += 1
        self.norm_at_once: dict[int, Tensor] = {}
        self._versions: dict[int, int] = {}
        self._waiting: set[int] = set()  # places whose tensor had no gradient yet, which checkpointing computes again

    def release(self) -> None:
        """Stops taking gradients of the passes so far: an input that comes again would be counted twice."""
        for handle in self._on_tensors:
            handle.remove()
        self._on_tensors = []

    def unspoilt(self, at: int) -> Tensor | None:
        """The tensor at a place; None where it was overwritten since, and its norm is taken on the spot from now on."""
        tensor = self.seen[at]
        if tensor is not None and tensor._version != self._versions[at]:
            self.at_once.add(at)
            return None
        return tensor

    def begin(self) -> None:
        """Begins a forward pass."""
        self._within = True
        self._calls = {}

    def end(self) -> None:
        """Ends the forward pass: later calls are checkpointing at work."""
        self._within = False

    def calls(self) -> list[int]:
        """By place, how often its module was called in the last pass."""
        return [self._calls.get(place.module, 0) for place in self.places]

    def expect(self, places: Iterable[int]) -> None:
        """The gradients of these places come when checkpointing computes them again."""
        self._waiting |= set(places)

    def remove(self) -> None:
        """Removes all hooks."""
        self.listening = self._attached = False
        self.release()
        for unhook in self._unhook:
            unhook()

    def _hooked(self) -> list[Callable[[], None]]:
        sides: dict[tuple[nn.Module, str], list[int]] = {}
        for at, place in enumerate(self.places):
            sides.setdefault((place.module, place.side), []).append(at)
        found = []
        for (module, side), wanted in sides.items():
            if side == "input":
                found.append(around(module, Hook(self._given, wanted, (module, "output") in sides), None))
            elif in_place(module) is None:
                found.append(module.register_forward_hook(Hook(self._gave, wanted)).remove)
            else:
                found.append(around(module, None, Hook(self._ran, wanted)))
        return found

    def _given(self, wanted: list[int], counted: bool, module: nn.Module, args: Any, kwargs: Any) -> None:
        """`counted`: the hook on the module's outputs counts this call."""
        if self.listening:
            self._look(wanted, module, partial(picked_input, args, kwargs), not counted)

    def _gave(self, wanted: list[int], module: nn.Module, _args: Any, output: Any) -> None:
        if self.listening:
            self._look(wanted, module, partial(picked, output), True)

    def _ran(self, wanted: list[int], module: nn.Module, args: Any, _kwargs: Any, output: Any) -> None:
        self._gave(wanted, module, args, output)

    def _look(self, wanted: list[int], module: nn.Module, value: Callable[[Key], Any], counts: bool) -> None:
        try:
            if self._within is None:
                call = 0
            elif self._within:
                call = self._calls.get(module, 0)
                if counts:
                    self._calls[module] = call + 1
            else:
                self._look_again(wanted, value)
                return
            for at in wanted:
                place = self.places[at]
                if place.call == call and (tensor := place.tensor(value(place.key))) is not None:
                    self._keep(at, tensor)
        except Exception as error:
            self._fail(error)

    def _look_again(self, wanted: list[int], value: Callable[[Key], Any]) -> None:
        """Checkpointing computes a part again, this time with gradients."""
        if len({self.places[at].call for at in wanted}) > 1:
            return  # of a module used twice nobody knows which call this is
        for at in wanted:
            tensor = self.places[at].tensor(value(self.places[at].key))
            if at in self._waiting and tensor is not None and tensor.requires_grad:
                self._waiting.discard(at)
                tensor.register_hook(partial(self.receive, (self.number, at)))

    def _keep(self, at: int, tensor: Tensor) -> None:
        if at in self.at_once:
            self.norm_at_once[at] = norms([tensor.detach()])
        self.seen[at] = tensor.detach()  # without the graph, which is freed as usual; shares the version counter
        self._versions[at] = tensor._version
        if self.gradients:
            if tensor.requires_grad:
                self._on_tensors.append(tensor.register_hook(partial(self.receive, (self.number, at))))
            else:
                self._waiting.add(at)

    def receive(self, where: tuple[int, int], grad: Tensor) -> None:
        """Takes a gradient that has come to a forward pass, by number, at a place."""
        if self._attached:
            try:
                if self.counts is None or self.counts(grad, where[0]):
                    # Twice through one graph (`retain_graph`): gradients add up, as those of parameters do.
                    sum_before = self._received.get(where)
                    self._received[where] = grad.detach() if sum_before is None else sum_before + grad.detach()
            except Exception as error:
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self._failed is None:
            raise error
        self._failed(error)


def _added(
    one: Mapping[tuple[int, int], Tensor], other: Mapping[tuple[int, int], Tensor]
) -> dict[tuple[int, int], Tensor]:
    """Gradients of two backward passes together."""
    return {**other, **{where: grad + other[where] if where in other else grad for where, grad in one.items()}}


def picked(output: Any, key: Key) -> Any:
    """The output of a module that has this key; None where there is none."""
    if key is None:
        return output
    if isinstance(output, Mapping):
        return output.get(key)
    return output[key] if isinstance(output, tuple | list) and isinstance(key, int) and key < len(output) else None


def picked_input(args: tuple[Any, ...], kwargs: dict[str, Any], key: Key) -> Any:
    """The argument of a module that has this key; None where there is none."""
    return picked(kwargs, key) if isinstance(key, str) else picked(args, key or 0)


@contextmanager
def watching(taps: Sequence[nn.Module], *, gradients: bool) -> Iterator[Probe]:
    """A probe on the outputs of modules, for the length of a `with` block."""
    probe = Probe([Place(tap) for tap in taps], gradients=gradients)
    try:
        yield probe
    finally:
        probe.remove()


def accumulate_dtype(device: torch.device) -> torch.dtype:
    """The dtype in which norms are summed: float64 where the device has it, for float32 does not hold 1e-25 squared."""
    return torch.float32 if device.type == "mps" else torch.float64


def norms(tensors: Sequence[Tensor]) -> Tensor:
    """The L2 norm of every tensor, (N,), in float64 where the device has it. All tensors are on one device.

    On a CPU float32 sums take half the time, and what they cannot hold is summed again. Elsewhere, asking would wait.
    """
    tensors = [torch.view_as_real(tensor) if tensor.is_complex() else tensor for tensor in tensors]
    dtype = accumulate_dtype(tensors[0].device)
    if tensors[0].device.type != "cpu" or any(t.dtype == torch.float64 or t.numel() > LONG for t in tensors):
        return norms_in(tensors, dtype)
    found = norms_in(tensors, torch.float32).to(dtype)
    held = (found > SMALLEST) & (found < LARGEST)
    if not held.all():
        again = [at for at, fine in enumerate(held.tolist()) if not fine]
        found[again] = norms_in([tensors[at] for at in again], dtype)
    return found


def norms_in(tensors: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """The L2 norm of every tensor, (N,), summed in `dtype`.

    Small tensors of one shape are stacked first: one kernel instead of N, which halves the cost on a CPU.
    """
    first = tensors[0]
    if first.numel() <= STACKED and all(t.shape == first.shape and t.dtype == first.dtype for t in tensors):
        return torch.linalg.vector_norm(torch.stack(list(tensors)).reshape(len(tensors), -1), dim=1, dtype=dtype)
    return torch.stack(torch._foreach_norm(list(tensors), 2, dtype))


def joined(tensors: Sequence[Tensor]) -> Tensor:
    """All numbers of some tensors in one row, by one call for any count of tensors."""
    return torch._C._nn.flatten_dense_tensors(list(tensors))
