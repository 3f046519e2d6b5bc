"""Torch calls that add tensors up, by name, and the mode that hears them in a forward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

ADDITIONS = {"add", "__add__", "__radd__", "add_", "__iadd__"}
SUBTRACTIONS = {"sub", "__sub__", "sub_", "__isub__", "subtract", "subtract_", "rsub", "__rsub__"}
# Calls that add something made of their other tensors to the first one; the name may end in "_".
ADDITIONS_IN_PLACES = {"index_add", "scatter_add", "index_put"}  # to some of its numbers
ADDITIONS_TO_FIRST = {
    "addcmul", "addcdiv", "addmm", "addmv", "addr", "addbmm", "baddbmm", "lerp", *ADDITIONS_IN_PLACES,
}  # fmt: skip
CHOICES = {"where", "__setitem__"}  # calls that take each number of one tensor or another
REDUCTIONS = {"sum", "mean"}
CONCATENATIONS = {"stack", "cat", "concat", "concatenate"}


def sum_of(func: Any, args: Any, out: Any) -> Tensor | None:
    """What a call has made that may have added tensors up; None for any other call."""
    name = getattr(func, "__name__", "")
    is_named = any(name in names for names in (ADDITIONS, SUBTRACTIONS, REDUCTIONS, CHOICES))
    changed = args[0] if name == "__setitem__" else out
    return (
        changed if isinstance(changed, Tensor) and (is_named or name.removesuffix("_") in ADDITIONS_TO_FIRST) else None
    )


class SumsOfPass(TorchFunctionMode):
    """Calls `keep` with the number of each sum of a forward pass, counted from 0, and its tensor."""

    def __init__(self, keep: Callable[[int, Tensor], None]) -> None:
        super().__init__()
        self._keep = keep
        self._count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if (changed := sum_of(func, args, out)) is not None:
            self._keep(self._count, changed)
            self._count += 1
        return out
