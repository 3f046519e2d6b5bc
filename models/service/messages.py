"""The identities of runs, and dataclasses packed for the wire and unpacked."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
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
    """A dataclass as a dict of its fields, recursively; what the wire can carry stays as it is."""
    if is_dataclass(value):
        return {part.name: packed(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, dict):
        return {name: packed(part) for name, part in value.items()}
    return [packed(part) for part in value] if isinstance(value, list | tuple) else value


def unpacked(kind: Any, value: Any) -> Any:
    """The inverse of `packed`, from the class or annotation of the value.

    It knows dataclasses, tuples and dicts of one type, and optional values. What an older log lacks has its default.
    """
    if isinstance(kind, type) and is_dataclass(kind):
        there = {name: part for name, part in _kinds(kind).items() if name in value or name in _required(kind)}
        return kind(**{name: unpacked(part, value[name]) for name, part in there.items()})
    origin, parts = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else unpacked(parts[0], value)
    if origin is tuple:
        return tuple(unpacked(parts[0], part) for part in value)
    return {name: unpacked(parts[1], part) for name, part in value.items()} if origin is dict else value


@cache
def _kinds(kind: type) -> dict[str, Any]:
    """The annotations of a dataclass's fields by name."""
    known = get_type_hints(kind)
    return {part.name: known[part.name] for part in fields(kind)}


@cache
def _required(kind: type) -> frozenset[str]:
    """The fields of a dataclass without a default."""
    return frozenset(part.name for part in fields(kind) if part.default is part.default_factory is MISSING)
