"""Models of which torch.compile has compiled all or a part: hooks see their compiled parts from outside only."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from addnorm.trace import Graph

WRAPPED = "_orig_mod"  # torch.compile(module) holds the module under this name
EAGER = getattr(torch.compiler, "set_stance", None)  # torch 2.6 or newer


def core(model: nn.Module) -> nn.Module:
    """A model without the wrapper of torch.compile."""
    inner = getattr(model, WRAPPED, None)
    return inner if isinstance(inner, nn.Module) else model


def wrapper_of(model: nn.Module) -> nn.Module:
    """What torch.compile has made of a model, where that is still there; else the model."""
    made = getattr(sys.modules.get("torch._dynamo.eval_frame"), "OptimizedModule", None)
    if made is None or type(model) is made:
        return model
    return next((one for one in gc.get_objects() if type(one) is made and core(one) is model), model)


def plain_name(name: str) -> str:
    """A module's name as it was before it was compiled."""
    return ".".join(part for part in name.split(".") if part != WRAPPED)


def compiled_parts(model: nn.Module) -> list[str]:
    """Names of the modules that torch.compile was called on, the outermost of each."""
    names: list[str] = []
    for name, module in model.named_modules():
        if (core(module) is not module or in_place(module) or by_lightning(module)) and not is_inside(name, names):
            names.append(name)
    return names


def is_inside(name: str, parts: Sequence[str]) -> bool:
    """Whether a module lies inside a compiled part, so that no hook on it is heard."""
    return any(name != part and (not part or name.startswith(f"{part}.")) for part in parts)


def in_place(module: nn.Module) -> Any:
    """What a module runs that was compiled by `module.compile()`; None of any other."""
    return getattr(module, "_compiled_call_impl", None)


def by_lightning(module: nn.Module) -> bool:
    """Whether Lightning has compiled the steps of a module, after taking it out of torch.compile's wrapper."""
    return getattr(module, "_compiler_ctx", None) is not None


def outside(graph: Graph, parts: Sequence[str]) -> Graph:
    """A traced pass with the boundaries alone at which hooks are heard."""
    if not parts:
        return graph
    seen = copy(graph)
    seen.boundaries = {
        at: [boundary for boundary in known if not is_inside(boundary.name, parts)]
        for at, known in graph.boundaries.items()
    }
    return seen


def eagerly() -> AbstractContextManager[object]:
    """Runs compiled code as it was written, so that hooks see what is inside; from torch 2.6 on."""
    return nullcontext() if EAGER is None else EAGER("force_eager")


def around(
    module: nn.Module, before: Callable[..., object] | None, after: Callable[..., object] | None
) -> Callable[[], None]:
    """Hooks on the calls of a module; of one compiled in place around its compiled call, where none is recompiled.

    `before` is given the module and its arguments, `after` the output too, as torch's hooks with keywords are; `after`
    hears None of a call that failed. Returns what removes them.
    """
    run = in_place(module)
    if run is None:
        handles = []
        if before is not None:
            handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
        if after is not None:
            handles.append(module.register_forward_hook(after, with_kwargs=True, always_call=True))

        def unhook() -> None:
            for handle in handles:
                handle.remove()

        return unhook

    hooked = True

    def call(*args: Any, **kwargs: Any) -> Any:
        if hooked and before is not None:
            before(module, args, kwargs)
        output = None
        try:
            output = run(*args, **kwargs)
        finally:
            if hooked and after is not None:
                after(module, args, kwargs, output)
        return output

    module._compiled_call_impl = call

    def remove() -> None:
        nonlocal hooked
        hooked = False
        if module._compiled_call_impl is call:
            module._compiled_call_impl = run

    return remove
