"""The configuration of a run: an immutable value that determines every number of the run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from models.spec import query
from models.spec.arrangements import arranged_fields
from models.spec.fields import Fields, knobs, legal_value
from models.spec.overrides import legal_overrides
from models.spec.rules import RULES


@dataclass(frozen=True)
class RunConfig(Fields):
    """The net, task and training of one run. Raises ValueError with the field, its value and the legal values."""

    def __post_init__(self) -> None:
        for name, (kind, knob) in knobs().items():
            if name == "overrides":
                object.__setattr__(self, name, legal_overrides(self.overrides, self.depth))
            else:
                object.__setattr__(self, name, legal_value(name, getattr(self, name), kind, knob))
        for rule in RULES:
            if rule.is_broken(self):
                raise ValueError(rule.sentence(self))

    @classmethod
    def arranged(cls, arrangement: str, **overrides: Any) -> "RunConfig":
        """The defaults of a named arrangement, updated by `overrides`. Raises ValueError for an unknown name."""
        return cls(**arranged_fields(arrangement, overrides))

    def to_query(self) -> dict[str, str]:
        """The fields that differ from the defaults, as text: the run's link and the identity of its log."""
        return query.to_query(self)

    @staticmethod
    def from_query(mapping: Mapping[str, str | Iterable[str]]) -> "tuple[RunConfig, list[str]]":
        """A legal configuration from a link, and notes on clamped and ignored values. Accepts any text."""
        values, notes = query.legal_fields(mapping)
        return RunConfig(**values), notes
