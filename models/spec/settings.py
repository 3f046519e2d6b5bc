"""The settings of a form, declared like those of a run: a frozen dataclass whose fields have knobs."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from models.spec.fields import knobs
from models.spec.knob import Knob, Knobs, knobs_of


@dataclass(frozen=True)
class Settings:
    """Base class of a form's settings. Every field is `Annotated[type, Knob(...)]` with a default.

    `columns` is the number of controls in each row of the form; the last number repeats. Empty: all in one row.
    """

    columns: ClassVar[tuple[int, ...]] = (1,)

    @classmethod
    def knobs(cls) -> Knobs:
        """The accepted types and the knob of every setting by name, in order."""
        return knobs_of(cls)  # type: ignore[arg-type]


def run_knob(name: str, **changes: Any) -> Knob:
    """The knob of a run's field with `changes` for a form. Its help still links to the field's glossary term."""
    knob = knobs()[name][1]
    return replace(knob, **{"word": knob.label} | changes)
