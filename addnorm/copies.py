"""Copies and pickles of a model that is watched hold nothing of ours: they are of the model as if it were not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from addnorm.probe import Hook

# Where a module keeps its hooks, and which of them get keywords or are called after an error.
KEPT = {
    "_forward_hooks": ("_forward_hooks_with_kwargs", "_forward_hooks_always_called"),
    "_forward_pre_hooks": ("_forward_pre_hooks_with_kwargs",),
}

_users = 0


def left_out_of_copies() -> Callable[[], None]:
    """Leaves our hooks out of what is copied or pickled, until the function returned is called."""
    global _users  # noqa: PLW0603
    _users += 1
    nn.Module.__reduce_ex__ = _reduced  # type: ignore[method-assign, assignment]
    over = False

    def leave() -> None:
        global _users
        nonlocal over
        if not over:
            over, _users = True, _users - 1
            if not _users and nn.Module.__dict__.get("__reduce_ex__") is _reduced:
                del nn.Module.__reduce_ex__

    return leave


def _reduced(module: nn.Module, protocol: Any) -> Any:
    made = object.__reduce_ex__(module, protocol)
    if isinstance(made, tuple) and len(made) > 2 and isinstance(made[2], dict):
        return (*made[:2], _without_ours(made[2]), *made[3:])
    return made


def _without_ours(state: dict[str, Any]) -> dict[str, Any]:
    stripped = dict(state)
    for name, marks in KEPT.items():
        hooks = state.get(name) or {}
        ours = {key for key, hook in hooks.items() if isinstance(hook, Hook)}
        for key_ in (name, *marks) if ours else ():
            if key_ in stripped:
                stripped[key_] = type(stripped[key_])(
                    (key, value) for key, value in stripped[key_].items() if key not in ours
                )
    return stripped
