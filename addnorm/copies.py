"""Copies and pickles of a watched model without the recorder's hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from addnorm.probe import Hook

# The attributes in which a module holds its hooks, each with those that mark hooks by the same keys.
HOOK_ATTRIBUTES = {
    "_forward_hooks": ("_forward_hooks_with_kwargs", "_forward_hooks_always_called"),
    "_forward_pre_hooks": ("_forward_pre_hooks_with_kwargs",),
}

_users: list[object] = []  # a token for each recorder for which `__reduce_ex__` is patched


def strip_hooks_from_copies() -> Callable[[], None]:
    """Leaves the recorder's hooks out of copies and pickles. Returns a function that ends this."""
    token = object()
    _users.append(token)
    nn.Module.__reduce_ex__ = _reduce_without_hooks  # type: ignore[method-assign, assignment]

    def remove() -> None:
        if token not in _users:
            return
        _users.remove(token)
        if not _users and nn.Module.__dict__.get("__reduce_ex__") is _reduce_without_hooks:
            del nn.Module.__reduce_ex__

    return remove


def _reduce_without_hooks(module: nn.Module, protocol: Any) -> Any:
    reduced = object.__reduce_ex__(module, protocol)
    if isinstance(reduced, tuple) and len(reduced) > 2 and isinstance(reduced[2], dict):
        return (*reduced[:2], _without_hooks(reduced[2]), *reduced[3:])
    return reduced


def _without_hooks(state: dict[str, Any]) -> dict[str, Any]:
    stripped = dict(state)
    for attribute, marks in HOOK_ATTRIBUTES.items():
        hooks = state.get(attribute) or {}
        recorder_keys = {key for key, hook in hooks.items() if isinstance(hook, Hook)}
        if not recorder_keys:
            continue
        for name in (attribute, *marks):
            if name in stripped:
                entries = stripped[name]
                stripped[name] = type(entries)((key, entries[key]) for key in entries if key not in recorder_keys)
    return stripped
