"""Torch calls that add tensors up, by name, and the mode that hears them in a forward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

ADDITIONS = {"add", "__add__", "__radd__", "add_", "__iadd__"}
SUBTRACTIONS = {"sub", "__sub__", "sub_", "__isub__", "subtract", "subtract_"}
# Calls that add something made of their other tensors to the first one; the name may end in "_".
ADDITIONS_TO_FIRST = {
    "addcmul", "addcdiv", "addmm", "addmv", "addr", "addbmm", "baddbmm",
    "lerp", "index_add", "scatter_add", "index_put",
}  # fmt: skip
REDUCTIONS = {"sum", "mean"}
CONCATENATIONS = {"stack", "cat", "concat", "concatenate"}


def is_sum(func: Any, out: Any) -> bool:
    """Whether a call may have added tensors up."""
    name = getattr(func, "__name__", "")
    is_named = name in ADDITIONS or name in SUBTRACTIONS or name in REDUCTIONS
    return isinstance(out, Tensor) and (is_named or name.removesuffix("_") in ADDITIONS_TO_FIRST)


class SumsOfPass(TorchFunctionMode):
    """Calls `keep` with the number of each sum of a forward pass, counted from 0, and its tensor."""

    def __init__(self, keep: Callable[[int, Tensor], None]) -> None:
        super().__init__()
        self._keep = keep
        self._count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if is_sum(func, out):
            self._keep(self._count, out)
            self._count += 1
        return out
