"""Forward hooks for the length of a `with` block."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

Hook = Callable[[nn.Module, Any, Any], Any]  # (module, inputs, output) -> a new output, or None


@contextmanager
def forward_hooks(hooks: Iterable[tuple[nn.Module, Hook]]) -> Iterator[None]:
    """Registers forward hooks on modules and removes them when the `with` block ends."""
    handles = [module.register_forward_hook(hook) for module, hook in hooks]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
