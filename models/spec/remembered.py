"""A cache of what follows from a configuration, bounded in bytes: a configuration may have many overrides."""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from threading import Lock
from typing import TypeVar

from models.spec.config import RunConfig

Value = TypeVar("Value")

FIELDS_BYTES, OVERRIDE_BYTES = 2000, 120  # that a configuration takes, and each of its overrides (tracemalloc)


def config_bytes(cfg: RunConfig) -> int:
    """About how many bytes a configuration holds, its link included."""
    return FIELDS_BYTES + OVERRIDE_BYTES * len(cfg.overrides)


def remembered(
    most_bytes: int, of: Callable[[RunConfig], int] = config_bytes
) -> Callable[[Callable[[RunConfig], Value]], Callable[[RunConfig], Value]]:
    """Remembers what a function returned, the longest unused forgotten first; `of`: the bytes of an entry."""

    def wrap(function: Callable[[RunConfig], Value]) -> Callable[[RunConfig], Value]:
        kept: OrderedDict[RunConfig, Value] = OrderedDict()
        lock, held = Lock(), 0

        @wraps(function)
        def known(cfg: RunConfig) -> Value:
            nonlocal held
            with lock, suppress(KeyError):
                kept.move_to_end(cfg)
                return kept[cfg]
            value = function(cfg)
            with lock:
                held += 0 if cfg in kept else of(cfg)
                kept[cfg] = value
                while held > most_bytes:
                    held -= of(kept.popitem(last=False)[0])
            return value

        return known

    return wrap
