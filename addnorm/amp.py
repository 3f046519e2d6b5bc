"""AMP's GradScaler: its scale, the updates that it leaves out, and a scaler that nobody has told of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Listener = Callable[[Any, Any, bool], None]  # a scaler, the optimiser that it steps, whether the step is over

_listeners: list[Listener] = []
_originals: dict[str, Any] = {}  # methods of the class, while somebody listens


def scale_of(scaler: Any) -> Tensor:
    """The factor on the loss, without waiting for the device."""
    scale = getattr(scaler, "_scale", None)
    return scale.detach().clone() if isinstance(scale, Tensor) else torch.tensor(float(scaler.get_scale()))


def unscaled(scaler: Any, optimizer: Any) -> bool:
    """Whether the gradients of the weights have been divided by the scale."""
    states = getattr(scaler, "_per_optimizer_states", {})
    chosen = [states[id(optimizer)]] if id(optimizer) in states else list(states.values())
    return any(getattr(state.get("stage"), "name", "") == "UNSCALED" for state in chosen)


def listen(listener: Listener) -> Callable[[], None]:
    """Tells `listener` of every scaler at work, until the function returned is called; its class is restored then.

    It is told when a scaler scales a loss (without an optimiser), and before and after it steps one. Nothing is kept on
    the scaler itself, which may be pickled.
    """
    _listeners.append(listener)
    if len(_listeners) == 1:
        _originals.update({name: getattr(torch.amp.GradScaler, name) for name in ("scale", "step")})
        for name, original in _originals.items():
            setattr(torch.amp.GradScaler, name, _heard(name, original))

    def leave() -> None:
        if listener in _listeners:
            _listeners.remove(listener)
            if not _listeners:
                for name, original in _originals.items():
                    setattr(torch.amp.GradScaler, name, original)

    return leave


def _heard(name: str, original: Any) -> Any:
    def call(scaler: Any, *args: Any, **kwargs: Any) -> Any:
        optimizer = kwargs.get("optimizer", args[0] if args else None) if name == "step" else None
        for listener in tuple(_listeners):
            listener(scaler, optimizer, False)
        result = original(scaler, *args, **kwargs)
        for listener in tuple(_listeners) if name == "step" else ():
            listener(scaler, optimizer, True)
        return result

    return call
