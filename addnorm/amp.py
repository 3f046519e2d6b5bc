"""AMP's GradScaler: its scale, the updates that it leaves out, and a scaler that nobody has told of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Found = Callable[[Any, Any], bool]  # a scaler and the optimiser that it steps; whether it is taken

_seeking: list[Found] = []
_originals: dict[str, Any] = {}  # methods of the class, while somebody seeks


def scale_of(scaler: Any) -> Tensor:
    """The factor on the loss, without waiting for the device."""
    scale = getattr(scaler, "_scale", None)
    return scale.detach().clone() if isinstance(scale, Tensor) else torch.tensor(float(scaler.get_scale()))


def unscaled(scaler: Any, optimizer: Any) -> bool:
    """Whether the gradients of the weights have been divided by the scale."""
    states = getattr(scaler, "_per_optimizer_states", {})
    chosen = [states[id(optimizer)]] if id(optimizer) in states else list(states.values())
    return any(getattr(state.get("stage"), "name", "") == "UNSCALED" for state in chosen)


def seek(found: Found) -> Callable[[], None]:
    """Offers `found` every scaler at work, until it takes one or the function returned is called.

    A scaler is met when it scales a loss (without an optimiser) and when it steps one. Its class is restored after.
    """
    _seeking.append(found)
    if len(_seeking) == 1:
        _originals.update({name: getattr(torch.amp.GradScaler, name) for name in ("scale", "step")})
        for name, original in _originals.items():
            setattr(torch.amp.GradScaler, name, _met(name, original))

    def leave() -> None:
        if found in _seeking:
            _seeking.remove(found)
            if not _seeking:
                for name, original in _originals.items():
                    setattr(torch.amp.GradScaler, name, original)

    return leave


def _met(name: str, original: Any) -> Any:
    def call(scaler: Any, *args: Any, **kwargs: Any) -> Any:
        optimizer = kwargs.get("optimizer", args[0] if args else None) if name == "step" else None
        if any(found(scaler, optimizer) for found in tuple(_seeking)):
            return getattr(scaler, name)(*args, **kwargs)  # whoever took it may have changed its step
        return original(scaler, *args, **kwargs)

    return call
