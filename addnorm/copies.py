"""Copies and pickles of a watched model without the recorder's hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from addnorm.probe import Hook

# A module's dicts of hooks by id, each with the dicts that flag some of these ids.
HOOK_ATTRIBUTES = {
    "_forward_hooks": ("_forward_hooks_with_kwargs", "_forward_hooks_always_called"),
    "_forward_pre_hooks": ("_forward_pre_hooks_with_kwargs",),
}

_tokens: list[object] = []  # one per active recorder; `__reduce_ex__` is patched while there are any


def strip_hooks_from_copies() -> Callable[[], None]:
    """Patches `nn.Module` so that copies and pickles lack the recorder's hooks. Returns a function that undoes this."""
    token = object()
    _tokens.append(token)
    nn.Module.__reduce_ex__ = _reduce_without_hooks  # type: ignore[method-assign, assignment]

    def remove() -> None:
        if token not in _tokens:
            return
        _tokens.remove(token)
        if not _tokens and nn.Module.__dict__.get("__reduce_ex__") is _reduce_without_hooks:
            del nn.Module.__reduce_ex__

    return remove


def _reduce_without_hooks(module: nn.Module, protocol: Any) -> Any:
    reduced = object.__reduce_ex__(module, protocol)
    if not isinstance(reduced, tuple) or len(reduced) < 3:
        return reduced
    function, arguments, state, *others = reduced
    return (function, arguments, _without_hooks(state), *others) if isinstance(state, dict) else reduced


def _without_hooks(state: dict[str, Any]) -> dict[str, Any]:
    stripped = dict(state)
    for attribute, flags in HOOK_ATTRIBUTES.items():
        hooks = state.get(attribute) or {}
        recorder_keys = {key for key, hook in hooks.items() if isinstance(hook, Hook)}
        if not recorder_keys:
            continue
        for name in (attribute, *flags):
            if name in stripped:
                entries = stripped[name]
                stripped[name] = type(entries)((key, entries[key]) for key in entries if key not in recorder_keys)
    return stripped
