"""Hooks on tensors at the boundaries of modules, which never wait for the device while the model trains.

A hook at every place keeps a reference to the tensor, and later to its gradient; one batched read turns them into
norms. Nothing is copied, and the arithmetic of the training does not change.
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

from addnorm.compiled import compiled_call, hook_calls
from addnorm.passes import is_transforming
from addnorm.sums import SumsOfPass

MAX_STACKED_NUMBERS = 4096  # per tensor; stacking larger tensors costs more than a kernel for each
MAX_FLOAT32_NUMBERS = 1 << 20  # per tensor; a float32 sum of more squares loses digits
MIN_FLOAT32_NORM = 1e-15  # float32 cannot represent the squares of smaller norms
MAX_FLOAT32_NORM = 1e15  # nor those of larger ones

Key = int | str | None
PassAndPlace = tuple[int, int]  # number of the forward pass, index of the place


@dataclass(frozen=True)
class Place:
    """A tensor at the boundary of a module: an output or input of its nth call in a forward pass.

    `key` selects one of several tensors: an index, a name, or None for a single tensor. With `side` "sum" it is the
    number of a sum in the pass of the model, wherever that is made. With `is_base`, the base of the
    tensor is watched, of which the tensor is a view.
    """

    module: nn.Module
    side: str = "output"
    key: Key = None
    call: int = 0
    is_base: bool = False

    def tensor(self, value: Any) -> Tensor | None:
        """The watched tensor for an input or output of the module.

        None for an object that is no tensor and, with `is_base`, for a tensor that is not a view.
        """
        if not isinstance(value, Tensor):
            return None
        return value._base if self.is_base else value


class Hook:
    """A hook that ignores compilation and torch.func transforms. Its copies and pickles are hooks that do nothing."""

    def __init__(self, function: Callable[..., None], *leading_args: Any) -> None:
        self._function = function
        self._leading_args = leading_args

    def __call__(self, *args: Any) -> None:
        # What is compiled after `watch` is compiled as if it were not watched.
        if not torch.compiler.is_compiling() and not is_transforming():
            self._function(*self._leading_args, *args)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (nullcontext(), "__exit__")


class NoticingHook(Hook):
    """A hook that calls `on_compile` when torch.compile compiles the call around it, and `on_transform` inside one."""

    def __init__(
        self,
        function: Callable[..., None],
        on_compile: Callable[[], None],
        on_transform: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(function)
        self._on_transform = on_transform

        def notice() -> bool:
            on_compile()
            return True

        # torch.compile calls such a function once, while it compiles, and keeps its result: nothing of it is traced.
        notice._dynamo_marked_constant = True  # type: ignore[attr-defined]
        self._notice = notice

    def __call__(self, *args: Any) -> None:
        if torch.compiler.is_compiling():
            self._notice()
        elif not is_transforming():
            self._function(*args)
        elif self._on_transform is not None:
            self._on_transform()


class Probe:
    """Hooks at some places, which keep the tensors of the last forward pass and their gradients.

    Call `begin` and `end` around a pass if a module may be called twice, or again by checkpointing after the pass.
    Without them every call counts. `on_error` receives the probe's own errors, which then do not reach the training.
    """

    def __init__(
        self,
        places: Sequence[Place],
        *,
        gradients: bool,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        self.places = tuple(places)
        self.gradients = gradients
        self.listening = True
        # Places whose tensor is overwritten later in the pass, so that its norm is taken immediately.
        self.early_norm_places: set[int] = set()
        # Decides whether a gradient for a forward pass, by number, counts; None counts all.
        self.is_counted: Callable[[Tensor, int], bool] | None = None
        self._tensor_hooks: list[RemovableHandle] = []
        self.pass_number = 0  # of the last forward pass
        self.forget()
        self._is_attached = True
        self._on_error = on_error
        self._is_in_pass: bool | None = None  # None before the first `begin`
        self._calls: dict[nn.Module, int] = {}
        self._mode: SumsOfPass | None = None  # in a pass
        self._sums = {place.key: index for index, place in enumerate(self.places) if place.side == "sum"}
        self._unhook = self._hook_modules()

    def tensors(self) -> list[Tensor]:
        return [tensor for tensor in self.captured if tensor is not None]

    def grads(self) -> list[Tensor]:
        """The gradient of the loss at each place, after `backward`."""
        return [grad for _, grad in sorted(self.received_gradients(), key=lambda pair: pair[0])]

    def received_gradients(self) -> list[tuple[int, Tensor]]:
        """All gradients with their places; a place has several if forward passes share a `backward`."""
        return [(place, grad) for (_, place), grad in self._received.items()]

    def reached(self) -> set[int]:
        """The numbers of the forward passes that gradients have reached."""
        return {pass_number for pass_number, _ in self._received}

    def put_aside(self, pass_number: int) -> list[tuple[int, Tensor]]:
        """Puts aside the gradients so far, because others come for this forward pass; `take_back` adds them again.

        Returns the gradients of other forward passes with their places: they belong to another sum.
        """
        same = {key: grad for key, grad in self._received.items() if key[0] == pass_number}
        others = [(place, grad) for (other, place), grad in self._received.items() if other != pass_number]
        self._aside.update(_sum_by_key(self._aside, same))
        self._received.clear()
        return others

    def take_back(self) -> None:
        """Adds the gradients that were put aside, which count after all."""
        self._received.update(_sum_by_key(self._received, self._aside))
        self._aside.clear()

    def forget(self) -> None:
        """Releases the tensors of the last pass. The hooks on them still receive their gradients."""
        self.captured: list[Tensor | None] = [None] * len(self.places)
        self._received: dict[PassAndPlace, Tensor] = {}
        self._aside: dict[PassAndPlace, Tensor] = {}
        self.pass_number += 1
        self.early_norms: dict[int, Tensor] = {}
        self._versions: dict[int, int] = {}
        self._waiting: set[int] = set()  # places whose tensors get gradients when checkpointing computes them again

    def release(self) -> None:
        """Removes the hooks on the tensors so far: an input used in the next pass too would be counted twice."""
        for handle in self._tensor_hooks:
            handle.remove()
        self._tensor_hooks = []

    def unchanged_tensor(self, place: int) -> Tensor | None:
        """The tensor at a place; None if it was overwritten since, and later passes then take its norm immediately."""
        tensor = self.captured[place]
        if tensor is not None and tensor._version != self._versions[place]:
            self.early_norm_places.add(place)
            return None
        return tensor

    def begin(self) -> None:
        self._is_in_pass = True
        self._calls = {}
        self._leave_sums()
        if self._sums and self.listening:
            self._mode = SumsOfPass(self._on_sum)
            self._mode.__enter__()

    def end(self) -> None:
        """Ends the forward pass: checkpointing makes all later calls."""
        self._is_in_pass = False
        self._leave_sums()

    def calls(self) -> list[int]:
        """By place, the calls of its module in the last pass."""
        return [1 if place.side == "sum" else self._calls.get(place.module, 0) for place in self.places]

    def expect(self, places: Iterable[int]) -> None:
        """Announces places whose gradients come when checkpointing computes them again."""
        self._waiting |= set(places)

    def remove(self) -> None:
        """Removes all hooks."""
        self.listening = self._is_attached = False
        self._leave_sums()
        self.release()
        for unhook in self._unhook:
            unhook()

    def _leave_sums(self) -> None:
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
            self._mode = None

    def _on_sum(self, number: int, tensor: Tensor) -> None:
        try:
            if (index := self._sums.get(number)) is not None and not is_transforming():
                self._keep(index, tensor)
        except Exception as error:
            self._fail(error)

    def _hook_modules(self) -> list[Callable[[], None]]:
        places_by_side: dict[tuple[nn.Module, str], list[int]] = {}
        for index, place in enumerate(self.places):
            if place.side != "sum":
                places_by_side.setdefault((place.module, place.side), []).append(index)
        removers = []
        for (module, side), places in places_by_side.items():
            if side == "input":
                counts_call = (module, "output") not in places_by_side  # else the hook on the outputs does
                removers.append(hook_calls(module, Hook(self._on_input, places, counts_call), None))
            elif compiled_call(module) is None:
                removers.append(module.register_forward_hook(Hook(self._on_output, places)).remove)
            else:
                removers.append(hook_calls(module, None, Hook(self._on_compiled_call, places)))
        return removers

    def _on_input(self, places: list[int], counts_call: bool, module: nn.Module, args: Any, kwargs: Any) -> None:
        if self.listening:
            self._visit(places, module, partial(input_item, args, kwargs), counts_call)

    def _on_output(self, places: list[int], module: nn.Module, _args: Any, output: Any) -> None:
        if self.listening:
            self._visit(places, module, partial(output_item, output), True)

    def _on_compiled_call(self, places: list[int], module: nn.Module, args: Any, _kwargs: Any, output: Any) -> None:
        self._on_output(places, module, args, output)

    def _visit(self, places: list[int], module: nn.Module, item: Callable[[Key], Any], counts_call: bool) -> None:
        try:
            if self._is_in_pass is None:
                call = 0
            elif self._is_in_pass:
                call = self._calls.get(module, 0)
                if counts_call:
                    self._calls[module] = call + 1
            else:
                self._visit_recomputed(places, item)
                return
            for index in places:
                place = self.places[index]
                if place.call == call and (tensor := place.tensor(item(place.key))) is not None:
                    self._keep(index, tensor)
        except Exception as error:
            self._fail(error)

    def _visit_recomputed(self, places: list[int], item: Callable[[Key], Any]) -> None:
        """Hooks tensors that checkpointing computes again, this time with gradients."""
        if len({self.places[index].call for index in places}) > 1:
            return  # of a module that is used twice, it is unknown which call is computed again
        for index in places:
            tensor = self.places[index].tensor(item(self.places[index].key))
            if index in self._waiting and tensor is not None and tensor.requires_grad:
                self._waiting.discard(index)
                tensor.register_hook(partial(self.receive, (self.pass_number, index)))

    def _keep(self, index: int, tensor: Tensor) -> None:
        if index in self.early_norm_places:
            self.early_norms[index] = norms([tensor.detach()])
        self.captured[index] = tensor.detach()  # without the graph, which is freed as usual; shares the version counter
        self._versions[index] = tensor._version
        if self.gradients:
            if tensor.requires_grad:
                self._tensor_hooks.append(tensor.register_hook(partial(self.receive, (self.pass_number, index))))
            else:
                self._waiting.add(index)

    def receive(self, key: PassAndPlace, grad: Tensor) -> None:
        """Takes a gradient for a forward pass at a place."""
        if not self._is_attached:
            return
        try:
            if self.is_counted is None or self.is_counted(grad, key[0]):
                # A graph traversed twice (`retain_graph`) adds its gradients up, as it does for parameters.
                previous = self._received.get(key)
                self._received[key] = grad.detach() if previous is None else previous + grad.detach()
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self._on_error is None:
            raise error
        self._on_error(error)


def _sum_by_key(
    left: Mapping[PassAndPlace, Tensor], right: Mapping[PassAndPlace, Tensor]
) -> dict[PassAndPlace, Tensor]:
    return {**right, **{key: grad + right[key] if key in right else grad for key, grad in left.items()}}


def output_item(output: Any, key: Key) -> Any:
    """The item of a module's output under this key; None if it has none."""
    if key is None:
        return output
    if isinstance(output, Mapping):
        return output.get(key)
    return output[key] if isinstance(output, tuple | list) and isinstance(key, int) and key < len(output) else None


def input_item(args: tuple[Any, ...], kwargs: dict[str, Any], key: Key) -> Any:
    """The argument of a module under this key; None if there is none."""
    return output_item(kwargs, key) if isinstance(key, str) else output_item(args, key or 0)


@contextmanager
def probe_outputs(taps: Sequence[nn.Module], *, gradients: bool) -> Iterator[Probe]:
    """A probe on the outputs of modules that is removed after a `with` block."""
    probe = Probe([Place(tap) for tap in taps], gradients=gradients)
    try:
        yield probe
    finally:
        probe.remove()


def accumulate_dtype(device: torch.device) -> torch.dtype:
    """The dtype for sums of squares: float64 if the device has it, because 1e-25 squared underflows in float32."""
    return torch.float32 if device.type == "mps" else torch.float64


def norms(tensors: Sequence[Tensor]) -> Tensor:
    """The L2 norm of every tensor, shape (N,), summed in float64 if the device has it. All tensors are on one device.

    On a CPU the sums are in float32, which takes half the time, and those out of its range are repeated. On other
    devices the check would wait.
    """
    if any(dtype.is_complex for dtype in {tensor.dtype for tensor in tensors}):
        tensors = [torch.view_as_real(tensor) if tensor.is_complex() else tensor for tensor in tensors]
    dtype = accumulate_dtype(tensors[0].device)
    is_cpu = tensors[0].device.type == "cpu"
    is_wide = [t.dtype == torch.float64 or t.numel() > MAX_FLOAT32_NUMBERS for t in tensors] if is_cpu else []
    if all(is_wide):
        return norms_in(tensors, dtype)
    if any(is_wide):
        values = torch.empty(len(tensors), dtype=dtype)
        for group in (True, False):
            indices = [index for index, wide in enumerate(is_wide) if wide is group]
            values[indices] = norms([tensors[index] for index in indices]).to(dtype)
        return values
    values = norms_in(tensors, torch.float32)
    repeated = [index for index, norm in enumerate(values.tolist()) if not MIN_FLOAT32_NORM < norm < MAX_FLOAT32_NORM]
    if repeated:
        values = values.to(dtype)
        values[repeated] = norms_in([tensors[index] for index in repeated], dtype)
    return values


def norms_in(tensors: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """The L2 norm of every tensor, shape (N,), summed in `dtype`.

    Small tensors of one shape are stacked first: one kernel instead of N, which halves the cost on a CPU.
    """
    first = tensors[0]
    if first.numel() <= MAX_STACKED_NUMBERS and all(t.shape == first.shape and t.dtype == first.dtype for t in tensors):
        return torch.linalg.vector_norm(torch.stack(list(tensors)).reshape(len(tensors), -1), dim=1, dtype=dtype)
    return torch.stack(torch._foreach_norm(list(tensors), 2, dtype))


def concatenate(tensors: Sequence[Tensor]) -> Tensor:
    """All numbers of the tensors in one row, by a single kernel."""
    return torch._C._nn.flatten_dense_tensors(list(tensors))
