"""The operation of a forward pass that made the first non-finite number, identified by repeating the pass."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn

from addnorm.compiled import force_eager
from addnorm.model import preserve_state
from addnorm.profiling import NonFiniteTracer


class LastPass:
    """The arguments and the autocast state of the last forward pass."""

    def __init__(self, args: Any, kwargs: Mapping[str, Any]) -> None:
        self._args = args
        self._kwargs = kwargs
        devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
        self._autocast = {kind: torch.get_autocast_dtype(kind) for kind in devices if torch.is_autocast_enabled(kind)}

    def culprit(self, model: nn.Module) -> str:
        """The operation and its module, in words; empty if the repeated pass is finite."""
        tracer = NonFiniteTracer(model, lambda _node, _tensor: None)
        with ExitStack() as casts, torch.no_grad(), preserve_state(model), force_eager(), tracer:
            for kind, dtype in self._autocast.items():
                casts.enter_context(torch.autocast(kind, dtype))
            model(*self._args, **self._kwargs)
        return (tracer.forward or tracer.infinite).removeprefix("made by ")
