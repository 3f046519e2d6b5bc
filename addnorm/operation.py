"""Which operation of a forward pass made the first number that is not finite, by running the pass again."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn

from addnorm.compiled import eagerly
from addnorm.model import left_as_it_was
from addnorm.profiling import Finder


class LastPass:
    """What the last forward pass was given: its arguments and autocast."""

    def __init__(self, args: Any, kwargs: Mapping[str, Any]) -> None:
        self._given = args, kwargs
        kinds = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
        self._casts = {kind: torch.get_autocast_dtype(kind) for kind in kinds if torch.is_autocast_enabled(kind)}

    def culprit(self, model: nn.Module) -> str:
        """The operation and its module, in words; empty where the pass is finite when it is run again."""
        args, kwargs = self._given
        finder = Finder(model, lambda _node, _tensor: None)
        with ExitStack() as casts, torch.no_grad(), left_as_it_was(model), eagerly(), finder:
            for kind, dtype in self._casts.items():
                casts.enter_context(torch.autocast(kind, dtype))
            model(*args, **kwargs)
        return (finder.forward or finder.infinite).removeprefix("made by ")
