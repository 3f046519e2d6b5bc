"""Findings computed from the numbers of runs. Pages import them, so `signal`, which needs torch, loads on first use."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models.insight.signal import Signal, signal_at_init

__all__ = ["Signal", "signal_at_init"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from models.insight import signal

        return getattr(signal, name)
    raise AttributeError(name)
