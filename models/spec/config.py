"""The configuration of a run: a frozen value that decides every number the run will ever produce."""

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
    """The net, task and training of one run. Raises ValueError with the field, its value and what is legal."""

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
        """The defaults of a named arrangement and its net, with fields overridden. ValueError for an unknown name."""
        return cls(**arranged_fields(arrangement, overrides))

    def to_query(self) -> dict[str, str]:
        """The fields that differ from the defaults, as text: the link, and the identity of the log."""
        return query.to_query(self)

    @staticmethod
    def from_query(mapping: Mapping[str, str | Iterable[str]]) -> "tuple[RunConfig, list[str]]":
        """A legal configuration from a link, and notes on what was clamped or ignored. Never raises on text."""
        values, notes = query.legal_fields(mapping)
        return RunConfig(**values), notes
