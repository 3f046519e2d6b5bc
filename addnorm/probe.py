"""Watches tensors at the boundaries of modules while a model trains, without ever waiting for the device.

A hook on every place keeps a reference to the tensor, and to its gradient when that comes; one batched read turns them
into norms. Nothing is copied, nothing changes the arithmetic of the training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

STACKED = 4096  # numbers in a tensor up to which stacking is cheaper than one kernel each
LONG = 1 << 20  # numbers from which a sum of squares in float32 loses digits
SMALLEST, LARGEST = 1e-15, 1e15  # norms whose squares float32 holds

Key = int | str | None


@dataclass(frozen=True)
class Place:
    """A tensor at the boundary of a module: what it gives or is given at its nth call of a forward pass.

    `key` says which of several it is: an index, a name, or None for the only one.
    """

    module: nn.Module
    side: str = "output"
    key: Key = None
    call: int = 0


class Hook:
    """A hook of ours on a module. A copy of a watched model,
    or a saved one, has a hook in its place that does nothing.
    """

    def __init__(self, call: Callable[..., None], *first: Any) -> None:
        self._call, self._first = call, first

    def __call__(self, *args: Any) -> None:
        self._call(*self._first, *args)

    def __reduce__(self) -> tuple[Any, ...]:
        return Hook, (nothing,)


def nothing(*_args: Any) -> None:
    """What a copied hook does."""


class Probe:
    """Keeps what passed the places in the last forward pass, and the gradients that came back to them.

    `begin` and `end` bracket a pass for whom a module may be called twice, or again by checkpointing when the pass is
    over. Without them every call counts. `failed` is told of an error of ours, which never reaches the training.
    `fresh`: no tensor comes twice, so that hooks on tensors go with them and `release` has nothing to do.
    """

    def __init__(
        self,
        places: Sequence[Place],
        *,
        gradients: bool,
        failed: Callable[[Exception], None] | None = None,
        fresh: bool = False,
    ) -> None:
        self.places = tuple(places)
        self.gradients = gradients
        self.listening = True
        self.fresh = fresh
        self.at_once: set[int] = (
            set()
        )  # places whose tensor is overwritten later, so that its norm is taken on the spot
        self._on_tensors: list[RemovableHandle] = []  # taken off again, for inputs may come a second time
        self._pass = 0
        self.forget()
        self._attached = True
        self._failed = failed
        self._within: bool | None = None
        self._calls: dict[nn.Module, int] = {}
        self._handles = self._hooked()

    def tensors(self) -> list[Tensor]:
        """What passed the places, in their order."""
        return [tensor for tensor in self.seen if tensor is not None]

    def grads(self) -> list[Tensor]:
        """The gradient of the loss at each place, after `backward`."""
        return [grad for _, grad in sorted(self.received_at(), key=lambda pair: pair[0])]

    def received_at(self) -> list[tuple[int, Tensor]]:
        """All gradients with the places they came to; of several passes that share a `backward` there are several."""
        return [(at, grad) for (_, at), grad in self._received.items()]

    def forget(self) -> None:
        """Lets the last pass go, so that its tensors can be freed.
        Gradients that are still to come are kept all the same.
        """
        self.seen: list[Tensor | None] = [None] * len(self.places)
        self._received: dict[tuple[int, int], Tensor] = {}  # by pass and place
        self._pass += 1
        self.norm_at_once: dict[int, Tensor] = {}
        self._versions: dict[int, int] = {}
        self._waiting: set[int] = set()  # places whose tensor had no gradient yet: checkpointing computes it again

    def release(self) -> None:
        """Takes no more gradients of the passes so far: an input that comes again would be counted twice."""
        for handle in self._on_tensors:
            handle.remove()
        self._on_tensors = []

    def unspoilt(self, at: int) -> Tensor | None:
        """What passed a place, unless it was overwritten since; from then on its norm is taken on the spot."""
        tensor = self.seen[at]
        if tensor is not None and tensor._version != self._versions[at]:
            self.at_once.add(at)
            return None
        return tensor

    def begin(self) -> None:
        """A forward pass begins."""
        self._within = True
        self._calls = {}

    def end(self) -> None:
        """The forward pass is over: calls from now on are checkpointing at work."""
        self._within = False

    def expect(self, places: Iterable[int]) -> None:
        """Of these places the gradient is still to come, when checkpointing computes them again."""
        self._waiting |= set(places)

    def remove(self) -> None:
        """Takes the hooks off."""
        self.listening = self._attached = False
        self.release()
        for handle in self._handles:
            handle.remove()

    def _hooked(self) -> list[RemovableHandle]:
        sides: dict[tuple[nn.Module, str], list[int]] = {}
        for at, place in enumerate(self.places):
            sides.setdefault((place.module, place.side), []).append(at)
        handles = []
        for (module, side), wanted in sides.items():
            if side == "input":
                keep = Hook(self._given, wanted, (module, "output") in sides)
                handles.append(module.register_forward_pre_hook(keep, with_kwargs=True))
            else:
                handles.append(module.register_forward_hook(Hook(self._gave, wanted)))
        return handles

    def _given(self, wanted: list[int], again: bool, module: nn.Module, args: Any, kwargs: Any) -> None:
        """`again`: whether the hook of the output will count this call."""
        if self.listening:
            self._look(
                wanted, module, lambda key: kwargs.get(key) if isinstance(key, str) else args[key or 0], not again
            )

    def _gave(self, wanted: list[int], module: nn.Module, _args: Any, output: Any) -> None:
        if self.fresh and self._within is None and isinstance(output, Tensor):
            for at in wanted:
                self._keep(at, output)
        elif self.listening:
            self._look(wanted, module, lambda key: picked(output, key), True)

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
                if place.call == call and isinstance(tensor := value(place.key), Tensor):
                    self._keep(at, tensor)
        except Exception as error:
            self._fail(error)

    def _look_again(self, wanted: list[int], value: Callable[[Key], Any]) -> None:
        """Checkpointing computes a part again, this time with
        gradients. Of a module used twice nobody knows which call it is.
        """
        if len({self.places[at].call for at in wanted}) > 1:
            return
        for at in wanted:
            tensor = value(self.places[at].key)
            if at in self._waiting and isinstance(tensor, Tensor) and tensor.requires_grad:
                self._waiting.discard(at)
                tensor.register_hook(partial(self._receive, (self._pass, at)))

    def _keep(self, at: int, tensor: Tensor) -> None:
        if at in self.at_once:
            self.norm_at_once[at] = norms([tensor.detach()])
        self.seen[at] = tensor.detach()  # without the graph, which is freed as ever; in-place calls still count on it
        self._versions[at] = tensor._version
        if self.gradients:
            if tensor.requires_grad:
                handle = tensor.register_hook(partial(self._receive, (self._pass, at)))
                if not self.fresh:
                    self._on_tensors.append(handle)
            else:
                self._waiting.add(at)

    def _receive(self, where: tuple[int, int], grad: Tensor) -> None:
        if self._attached:
            try:
                kept = self._received.get(where)
                # Twice through one graph (`retain_graph`): gradients add up, as those of parameters do.
                self._received[where] = grad.detach() if kept is None else kept + grad.detach()
            except Exception as error:
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self._failed is None:
            raise error
        self._failed(error)


def picked(output: Any, key: Key) -> Any:
    """One of a module's outputs by its key; None where there is none."""
    if key is None:
        return output
    if isinstance(output, Mapping):
        return output.get(key)
    return output[key] if isinstance(output, tuple | list) and isinstance(key, int) and key < len(output) else None


def outputs(modules: Sequence[nn.Module], *, gradients: bool) -> Probe:
    """A probe on what some modules of a net of one's own give, a new tensor at each call."""
    return Probe([Place(module) for module in modules], gradients=gradients, fresh=True)


@contextmanager
def watching(taps: Sequence[nn.Module], *, gradients: bool) -> Iterator[Probe]:
    """A probe on the outputs of some modules for the length of a block."""
    probe = outputs(taps, gradients=gradients)
    try:
        yield probe
    finally:
        probe.remove()


def accumulate_dtype(device: torch.device) -> torch.dtype:
    """Squares of 1e-25 and 1e25 leave float32, so norms are summed in float64 where the device has it."""
    return torch.float32 if device.type == "mps" else torch.float64


def norms(tensors: Sequence[Tensor]) -> Tensor:
    """The L2 norm of every tensor, (N,), in float64 where the device has it. All tensors are on one device.

    On a CPU float32 sums take half the time; what they cannot
    hold is summed again. Elsewhere asking would mean waiting.
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
    """All numbers of some tensors in one row, by one call however many tensors there are."""
    return torch._C._nn.flatten_dense_tensors(list(tensors))
