"""Waiting for content, never for time."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 180.0


def until(true: Callable[[], Any], what: str) -> None:
    """Waits until something holds; AssertionError that names it when it never does."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.005)
