"""AMP's GradScaler: its scale, the updates that it skips, and a scaler that `watch` was not given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Listener = Callable[[Any, Any, bool], None]  # scaler, the optimiser that it steps or None, whether the step is over

_listeners: list[Listener] = []
_originals: dict[str, Any] = {}  # methods of GradScaler while they are wrapped


def scale_of(scaler: Any) -> Tensor:
    """The factor on the loss, read without waiting for the device."""
    scale = getattr(scaler, "_scale", None)
    return scale.detach().clone() if isinstance(scale, Tensor) else torch.tensor(float(scaler.get_scale()))


def is_unscaled(scaler: Any, optimizer: Any) -> bool:
    """Whether the gradients of the weights have been divided by the scale."""
    states = getattr(scaler, "_per_optimizer_states", {})
    relevant = [states[id(optimizer)]] if id(optimizer) in states else list(states.values())
    return any(getattr(state.get("stage"), "name", "") == "UNSCALED" for state in relevant)


def add_scaler_listener(listener: Listener) -> Callable[[], None]:
    """Calls `listener` for every GradScaler at work. Returns a function that removes it.

    A scaler that scales a loss calls it once, without an optimiser; one that steps an optimiser calls it before and
    after. The class is wrapped, not the scaler, which may be pickled.
    """
    _listeners.append(listener)
    if len(_listeners) == 1:
        for name in ("scale", "step"):
            _originals[name] = getattr(torch.amp.GradScaler, name)
            setattr(torch.amp.GradScaler, name, _wrapped_method(name, _originals[name]))

    def remove() -> None:
        if listener in _listeners:
            _listeners.remove(listener)
            if not _listeners:
                for name, original in _originals.items():
                    setattr(torch.amp.GradScaler, name, original)

    return remove


def _wrapped_method(name: str, original: Any) -> Any:
    is_step = name == "step"

    def call(scaler: Any, *args: Any, **kwargs: Any) -> Any:
        optimizer = kwargs.get("optimizer", args[0] if args else None) if is_step else None
        for listener in tuple(_listeners):
            listener(scaler, optimizer, False)
        result = original(scaler, *args, **kwargs)
        if is_step:
            for listener in tuple(_listeners):
                listener(scaler, optimizer, True)
        return result

    return call
