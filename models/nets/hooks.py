"""Forward hooks that are taken off again."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

Hook = Callable[[nn.Module, Any, Any], Any]  # module, inputs, output -> what replaces the output, or None


@contextmanager
def forward_hooks(hooks: Iterable[tuple[nn.Module, Hook]]) -> Iterator[None]:
    """Puts forward hooks on modules within a `with` block."""
    handles = [module.register_forward_hook(hook) for module, hook in hooks]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
