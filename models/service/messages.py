"""The identities of runs, and dataclasses packed for the wire and unpacked."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints
from urllib.parse import urlencode

from models.spec import RunConfig


def key_of(cfg: RunConfig) -> str:
    """The identity of a run: its link, which is the same in every process."""
    return urlencode(cfg.to_query())


def log_key(cfg: RunConfig, seeds: int = 1) -> str:
    """The identity of a log: that of its run, and the number of seeds."""
    return key_of(cfg) if seeds == 1 else f"{key_of(cfg)}#{seeds}"


def config_from(query: Mapping[str, str]) -> RunConfig:
    """The configuration of a link written by `to_query`. ValueError for any other link."""
    cfg, notes = RunConfig.from_query(query)
    if notes:
        raise ValueError("; ".join(notes))
    return cfg


def packed(value: Any) -> Any:
    """A dataclass as a dict of its fields, recursively; values that the wire can carry stay as they are."""
    if is_dataclass(value):
        return {field.name: packed(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {name: packed(entry) for name, entry in value.items()}
    return [packed(entry) for entry in value] if isinstance(value, list | tuple) else value


def unpacked(kind: Any, value: Any) -> Any:
    """The inverse of `packed`. `kind` is the value's class or annotation.

    It handles dataclasses, tuples and dicts of one type, and optional values. KeyError if a field is missing.
    """
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**{name: unpacked(hint, value[name]) for name, hint in _field_hints(kind).items()})
    origin, hints = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else unpacked(hints[0], value)
    if origin is tuple:
        return tuple(unpacked(hints[0], entry) for entry in value)
    return {name: unpacked(hints[1], entry) for name, entry in value.items()} if origin is dict else value


@cache
def _field_hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}
