"""Specification of a map: a base configuration, two axes, arrangements and seeds, identified by its content."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from models.spec import ARRANGEMENTS, RunConfig, knobs
from models.spec.fields import legal_value
from models.spec.knob import is_integer, plain
from models.spec.query import sanitize

FORMAT_VERSION = 1
AXES = (
    *("depth", "lr", "width", "init_gain", "batch", "warmup", "branch_dropout", "stream_dropout", "weight_decay"),
    *("streams", "mixing_noise", "sinkhorn", "depth_block"),
)
MAX_PANELS = 6
MAX_VALUES_OF_AXIS = 24
MAX_SEEDS_OF_MAP = 8
MAX_RUNS_OF_MAP = 1000  # cells times seeds
TARGET_BOUNDS = (0.001, 100.0)  # nats
MAX_SPEC_CHARS = 10_000  # four times the longest legal specification


@dataclass(frozen=True)
class Axis:
    """One axis: a field of AXES, and its values in drawing order."""

    field: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class MapSpec:
    """A map: two axes, arrangements, `base` (fields that differ from the defaults), seeds, and a target loss.

    ValueError with a sentence for illegal values; `cells.refusal_reason` also finds illegal combinations.
    """

    x: Axis
    y: Axis
    arrangements: tuple[str, ...]
    base: tuple[tuple[str, Any], ...] = ()
    seeds: int = 1
    target: float = 0.5

    def __post_init__(self) -> None:
        for name, axis in (("horizontal", self.x), ("vertical", self.y)):
            _check_axis(name, axis)
        if self.x.field == self.y.field:
            raise ValueError(f"Both axes are {knobs()[self.x.field][1].label.lower()}; choose two different settings")
        unknown = [name for name in self.arrangements if name not in ARRANGEMENTS]
        has_repeats = len(set(self.arrangements)) < len(self.arrangements)
        if unknown:
            name = sanitize(str(unknown[0]))
            raise ValueError(f"There is no arrangement {name}; there are {', '.join(ARRANGEMENTS)}")
        if has_repeats or not 1 <= len(self.arrangements) <= MAX_PANELS:
            raise ValueError(f"Choose 1 to {MAX_PANELS} different arrangements")
        for name, value in self.base:
            if name not in knobs() or name in (self.x.field, self.y.field, "seed", "overrides"):
                raise ValueError(
                    f"base has {sanitize(str(name))}; legal are fields that are neither an axis nor seed nor overrides"
                )
            legal_value(name, value, *knobs()[name])
        object.__setattr__(self, "x", _with_field_type(self.x))
        object.__setattr__(self, "y", _with_field_type(self.y))
        object.__setattr__(self, "base", tuple(sorted(self.base)))
        _check_integer("Seeds", self.seeds, 1, MAX_SEEDS_OF_MAP)
        low, high = TARGET_BOUNDS
        if not _is_number(self.target) or not low <= self.target <= high:
            raise ValueError(
                f"Target loss {sanitize(str(self.target))} is out of range ({plain(low)} to {plain(high)})"
            )

    @cached_property
    def digest(self) -> str:
        """Identity of the map: 16 hexadecimal digits of its content, independent of the order of the JSON."""
        return hashlib.sha256(json.dumps(self._content(), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def cells(self) -> int:
        return len(self.arrangements) * len(self.x.values) * len(self.y.values)

    @property
    def runs(self) -> int:
        return self.cells * self.seeds

    def config(self, arrangement: str, x: float, y: float, seed: int = 0) -> RunConfig:
        """Configuration of one run of a cell. ValueError with a sentence if it is illegal."""
        fields = dict(self.base) | {self.x.field: _value(self.x.field, x), self.y.field: _value(self.y.field, y)}
        return RunConfig.arranged(arrangement, **fields, seed=seed)

    def to_json(self, *, compact: bool = False) -> str:
        """The specification as indented JSON, or compact on one line."""
        if compact:
            return json.dumps(self._content(), separators=(",", ":"))
        return json.dumps(self._content(), indent=2) + "\n"

    @staticmethod
    def from_json(text: str) -> "MapSpec":
        """Parses an untrusted text. ValueError with one sentence."""
        if len(text) > MAX_SPEC_CHARS:
            raise ValueError(f"This is {len(text)} characters long; a specification has at most {MAX_SPEC_CHARS}.")
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError("This is not a specification of a map: it is not JSON.") from None
        if not isinstance(content, dict):
            raise ValueError("This is not a specification of a map: it is not a JSON object.")
        version = content.get("version")
        if isinstance(version, bool) or version != FORMAT_VERSION:
            raise ValueError(
                f"This specification has version {sanitize(str(version))}; this program reads version {FORMAT_VERSION}."
            )
        unknown = sorted(set(content) - {"version", "x", "y", "arrangements", "base", "seeds", "target"})
        if unknown:
            raise ValueError(f"A specification has no field {sanitize(unknown[0])}.")
        names, base = content.get("arrangements"), content.get("base", {})
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("arrangements is not a list of names.")
        if not isinstance(base, dict):
            raise ValueError("base is not an object of fields and values.")
        x, y = _axis("x", content.get("x")), _axis("y", content.get("y"))
        for name, value in base.items():
            if not isinstance(value, str | int | float | bool):
                raise ValueError(f"base has a value of {sanitize(name)} that is neither a number nor a word.")
        return MapSpec(x, y, tuple(names), tuple(base.items()), content.get("seeds", 1), content.get("target", 0.5))

    def _content(self) -> dict[str, Any]:
        axes = {
            name: {"field": axis.field, "values": list(axis.values)} for name, axis in (("x", self.x), ("y", self.y))
        }
        return {
            "version": FORMAT_VERSION,
            **axes,
            "arrangements": list(self.arrangements),
            "base": dict(self.base),
            "seeds": self.seeds,
            "target": float(self.target),
        }


def _axis(name: str, content: Any) -> Axis:
    """Reads the axis `name` from its JSON. ValueError with a sentence."""
    if not isinstance(content, dict) or set(content) != {"field", "values"} or not isinstance(content["values"], list):
        raise ValueError(f"{name} is not an axis; an axis has a field and a list of values.")
    if not isinstance(content["field"], str):
        raise ValueError(f"The field of {name} is not a word; legal is one of {', '.join(AXES)}.")
    return Axis(content["field"], tuple(content["values"]))


def _check_axis(name: str, axis: Axis) -> None:
    """ValueError with a sentence for an illegal field or value."""
    if axis.field not in AXES:
        field = sanitize(str(axis.field))
        raise ValueError(f"The {name} axis cannot be {field}, only one of {', '.join(AXES)}")
    if not 1 <= len(axis.values) <= MAX_VALUES_OF_AXIS:
        raise ValueError(f"The {name} axis has {len(axis.values)} values; it takes 1 to {MAX_VALUES_OF_AXIS}")
    types, knob = knobs()[axis.field]
    for value in axis.values:
        is_legal = _is_number(value) and knob.is_legal(value) and (float in types or value == int(value))
        if not is_legal:
            raise ValueError(knob.refusal(plain(value) if _is_number(value) else sanitize(str(value))))
    if len(set(axis.values)) < len(axis.values):
        raise ValueError(f"The {name} axis has the same value twice")


def _with_field_type(axis: Axis) -> Axis:
    """The axis with values of its field's type, so that 8 and 8.0 specify the same map."""
    return Axis(axis.field, tuple(_value(axis.field, value) for value in axis.values))


def _is_number(value: object) -> bool:
    return is_integer(value) or isinstance(value, float)


def _value(field: str, value: float) -> float | int:
    """The value as an integer, unless the field takes floats."""
    return float(value) if float in knobs()[field][0] else int(value)


def _check_integer(name: str, value: object, low: int, high: int) -> None:
    if not (isinstance(value, int) and is_integer(value) and low <= value <= high):
        raise ValueError(f"{name} {sanitize(str(value))} is out of range ({low} to {high})")
