"""Registries and fields as tables of text, for `python -m models list`. Free of torch."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from models.spec import (
    ACTIVATIONS,
    ARRANGEMENTS,
    BRANCH_SCALES,
    DECAYED,
    DEVICES,
    INITS,
    INPUT_SCALES,
    MASKS,
    NETS,
    NORMS,
    OPTIMIZERS,
    PARAMETRIZATIONS,
    PLACEMENTS,
    POSITIONS,
    SCHEDULES,
    SKIP_SCALES,
    STACKS,
    TASKS,
    RunConfig,
    knobs,
)

Row = tuple[str, str]


def _registry(entries: Mapping[str, Any]) -> Callable[[], Iterable[Row]]:
    """Returns a function that yields the rows of a registry: key, and description with source."""

    def rows() -> Iterable[Row]:
        for key, entry in entries.items():
            yield key, entry.description + (f" ({entry.source})" if entry.source else "")

    return rows


def _fields() -> Iterable[Row]:
    """Rows of the configuration's fields: name, and help with legal values and default."""
    for name, (types, knob) in knobs().items():
        if name == "overrides":
            yield name, f"{knob.help} Legal is for example 1-8.norm.none,9.identity.true. Default: none."
            continue
        default = getattr(RunConfig, name)
        default_text = f"{default:g}" if isinstance(default, float) else str(default)
        if types == (bool,):
            legal = "true or false"
            default_text = default_text.lower()
        else:
            legal = knob.legal_values()
        yield name, f"{knob.help} Legal is {legal}. Default: {default_text}."


CATALOGUE: dict[str, Callable[[], Iterable[Row]]] = {
    "arrangements": _registry(ARRANGEMENTS),
    "fields": _fields,
    "tasks": _registry(TASKS),
    "nets": _registry(NETS),
    "placements": _registry(PLACEMENTS),
    "norms": _registry(NORMS),
    "activations": _registry(ACTIVATIONS),
    "inits": _registry(INITS),
    "skip_scales": _registry(SKIP_SCALES),
    "branch_scales": _registry(BRANCH_SCALES),
    "input_scales": _registry(INPUT_SCALES),
    "stacks": _registry(STACKS),
    "positions": _registry(POSITIONS),
    "masks": _registry(MASKS),
    "optimizers": _registry(OPTIMIZERS),
    "schedules": _registry(SCHEDULES),
    "decayed": _registry(DECAYED),
    "parametrizations": _registry(PARAMETRIZATIONS),
    "devices": _registry(DEVICES),
}


def listing(part: str | None) -> str:
    """One part of the catalogue as aligned lines, or all parts with their keys if `part` is None."""
    if part is None:
        return _aligned((name, ", ".join(key for key, _ in rows())) for name, rows in CATALOGUE.items())
    return _aligned(CATALOGUE[part]())


def _aligned(rows: Iterable[Row]) -> str:
    rows = list(rows)
    width = max(len(key) for key, _ in rows) + 2
    return "\n".join(f"{key:<{width}}{description}" for key, description in rows)
