"""Which operation of a forward pass made the first number that is not finite, by running the pass again."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from addnorm.compiled import eagerly, plain_name
from addnorm.trace import Node, Tracer, tensors_in

MADE = ("masked_fill", "masked_fill_", "full", "full_like", "where", "triu", "tril")  # of -inf, for a softmax to take


class Pass:
    """What a forward pass was given: its arguments and autocast."""

    def __init__(self, args: Any, kwargs: Mapping[str, Any]) -> None:
        self._given = args, kwargs
        kinds = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
        self._casts = {kind: torch.get_autocast_dtype(kind) for kind in kinds if torch.is_autocast_enabled(kind)}

    def culprit(self, model: nn.Module) -> str:
        """The operation and its module, in words; empty where the pass is finite when it is run again."""
        args, kwargs = self._given
        with ExitStack() as stack:
            for kind, dtype in self._casts.items():
                stack.enter_context(torch.autocast(kind, dtype))
            stack.enter_context(torch.no_grad())
            stack.enter_context(eagerly(model))
            finder = Finder(model)
            stack.enter_context(finder)
            model(*args, **kwargs)
        return finder.culprit()


class Finder(Tracer):
    """A tracer that looks at every tensor, which waits for the device."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self._lost: set[int] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = super().__torch_function__(func, types, args, kwargs)
        for tensor, _ in tensors_in(out):
            node: Node | None = self._node_of.get(tensor)
            if node is not None and not _is_finite(tensor):
                self._lost.add(node.at)
        return out

    def culprit(self) -> str:
        """Goes back from the last tensor that is not finite to the first of those that it was made of."""
        lost = [node for node in self.graph.nodes if node.at in self._lost]
        if not lost:
            return ""
        chain = {node.at for node in lost if lost[-1].ancestors >> node.at & 1}
        sources = [node for node in lost if node.at in chain and not any(p.at in chain for p in node.parents)]
        node = min(sources, key=lambda source: (source.op in MADE or not source.parents, source.at))
        return f"{node.op or 'the input'}{f' in {plain_name(node.owner)}' if node.owner else ''}"


def _is_finite(tensor: Tensor) -> bool:
    return bool(tensor.detach().isfinite().all())
