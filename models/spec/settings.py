"""The settings of a form, declared once as those of a run are: a frozen dataclass whose fields have knobs."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from models.spec.fields import knobs
from models.spec.knob import Knob, Knobs, knobs_of


@dataclass(frozen=True)
class Settings:
    """What a form sets. Every field is `Annotated[type, Knob(...)]`, with its default.

    `columns`: how many controls stand side by side, row by row, of which the last is repeated; none: all in one line.
    """

    columns: ClassVar[tuple[int, ...]] = (1,)

    @classmethod
    def knobs(cls) -> Knobs:
        """By name, the types and the knob of every setting, in order."""
        return knobs_of(cls)  # type: ignore[arg-type]


def run_knob(name: str, **changes: Any) -> Knob:
    """The knob of a run's field, changed where a form's differs; its help still leads to the field's term."""
    knob = knobs()[name][1]
    return replace(knob, **{"word": knob.label} | changes)
