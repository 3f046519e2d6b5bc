"""Models that torch.compile has compiled in whole or in part: hooks see a compiled part only from outside."""

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

WRAPPED = "_orig_mod"  # the name under which torch.compile's wrapper holds the module
SET_STANCE = getattr(torch.compiler, "set_stance", None)  # None before torch 2.6


def unwrap_compiled(model: nn.Module) -> nn.Module:
    """The module inside torch.compile's wrapper, or the module itself."""
    inner = getattr(model, WRAPPED, None)
    return inner if isinstance(inner, nn.Module) else model


def compile_wrapper(model: nn.Module) -> nn.Module:
    """The wrapper that torch.compile made around a model, if one is alive; else the model."""
    wrapper_class = getattr(sys.modules.get("torch._dynamo.eval_frame"), "OptimizedModule", None)
    if wrapper_class is None or type(model) is wrapper_class:
        return model
    wrappers = (obj for obj in gc.get_objects() if type(obj) is wrapper_class)
    return next((wrapper for wrapper in wrappers if unwrap_compiled(wrapper) is model), model)


def plain_name(name: str) -> str:
    """A module's name without the levels that torch.compile adds."""
    return ".".join(part for part in name.split(".") if part != WRAPPED)


def compiled_parts(model: nn.Module) -> list[str]:
    """Names of the outermost compiled modules."""
    names: list[str] = []
    for name, module in model.named_modules():
        is_wrapper = unwrap_compiled(module) is not module
        is_compiled = is_wrapper or compiled_call(module) or is_compiled_by_lightning(module)
        if is_compiled and not is_hidden(name, names):
            names.append(name)
    return names


def scripted_parts(model: nn.Module) -> list[str]:
    """Names of the outermost modules that are scripts, inside which no hook runs."""
    names: list[str] = []
    for name, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule) and not is_hidden(name, names):
            names.append(name)
    return names


def is_hidden(name: str, parts: Sequence[str]) -> bool:
    """Whether a module lies inside a compiled part, where its hooks do not run."""
    return any(name != part and (not part or name.startswith(f"{part}.")) for part in parts)


def compiled_call(module: nn.Module) -> Any:
    """The function that `module.compile()` compiled in place; None for any other module."""
    return getattr(module, "_compiled_call_impl", None)


def is_compiled_by_lightning(module: nn.Module) -> bool:
    """Whether Lightning compiled the module's steps after unwrapping it from torch.compile."""
    return getattr(module, "_compiler_ctx", None) is not None


def visible_graph(graph: Graph, parts: Sequence[str]) -> Graph:
    """A traced pass without the boundaries inside compiled parts, where hooks do not run."""
    if not parts:
        return graph
    visible = copy(graph)
    visible.boundaries = {
        index: [boundary for boundary in boundaries if not is_hidden(boundary.name, parts)]
        for index, boundaries in graph.boundaries.items()
    }
    return visible


def force_eager() -> AbstractContextManager[object]:
    """Runs compiled code eagerly, so that hooks run inside it; without effect before torch 2.6."""
    return nullcontext() if SET_STANCE is None else SET_STANCE("force_eager")


def hook_calls(
    module: nn.Module, before: Callable[..., object] | None, after: Callable[..., object] | None
) -> Callable[[], None]:
    """Hooks the calls of a module. Returns a function that removes the hooks.

    A module compiled in place is hooked around its compiled call, so that nothing is recompiled. `before` receives
    (module, args, kwargs), `after` also the output, which is None for a call that raised.
    """
    compiled = compiled_call(module)
    if compiled is None:
        return _hook_eager_calls(module, before, after)
    is_hooked = True

    def call(*args: Any, **kwargs: Any) -> Any:
        if is_hooked and before is not None:
            before(module, args, kwargs)
        output = None
        try:
            output = compiled(*args, **kwargs)
        finally:
            if is_hooked and after is not None:
                after(module, args, kwargs, output)
        return output

    def remove() -> None:
        nonlocal is_hooked
        is_hooked = False
        if module._compiled_call_impl is call:
            module._compiled_call_impl = compiled

    module._compiled_call_impl = call
    return remove


def _hook_eager_calls(
    module: nn.Module, before: Callable[..., object] | None, after: Callable[..., object] | None
) -> Callable[[], None]:
    handles = []
    if before is not None:
        handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
    if after is not None:
        handles.append(module.register_forward_hook(after, with_kwargs=True, always_call=True))

    def remove() -> None:
        for handle in handles:
            handle.remove()

    return remove
