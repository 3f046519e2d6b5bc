"""What a trace of a figure is bound to on a tape. The browser fills in the numbers; Python says which.

A bound trace is plotly's own with the key `bind`; a layout may say with `bind` how its axes are held and where the step
that is shown is marked.
"""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from components.charts.parts import Figure
from models.trace import SCALARS, Columns, Frame

VECTORS = tuple(Columns((), (), 0).slices)
FRAME_VECTORS = ("sample_cosine", "update_to_weight", "dead_units")
FRAME_SCALARS = ("held_out_loss", "held_out_accuracy")
FOLDS = ("", "median", "least", "greatest")
AXES = ("", "log", "linear", "loss", "cosine")
LINES = ("", "line", "map")
assert {*FRAME_VECTORS, *FRAME_SCALARS} < {part.name for part in fields(Frame)}


@dataclass(frozen=True)
class Binding:
    """A run by its number on the page, and one of its seeds by its number; subclasses say what of it."""

    track: str
    run: int = 0
    seed: int = 0

    of: ClassVar[str] = ""
    tracks: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.track not in self.tracks:
            raise ValueError(f"track {self.track!r}: {type(self).__name__} takes {', '.join(self.tracks)}")
        if min(self.run, self.seed) < 0:
            raise ValueError(f"run {self.run}, seed {self.seed}: counted from 0")

    def to_json(self) -> dict[str, Any]:
        """What the browser reads."""
        return {"of": self.of} | asdict(self)


@dataclass(frozen=True)
class Folded(Binding):
    """A binding that may fold all seeds into one line: their
    median, least or greatest. `log`: the median of logarithms.

    `against`: the run that these values are divided by (or, where they are losses, minus), by its number.
    """

    fold: str = ""
    log: bool = True
    against: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fold not in FOLDS:
            raise ValueError(f"fold {self.fold!r}: one of {', '.join(map(repr, FOLDS))}")


@dataclass(frozen=True)
class Row(Folded):
    """A vector of the row at the playhead: one value per site, branch or block. What a log axis cannot hold is marked.

    `first`: of the net before training, wherever the playhead is.
    """

    first: bool = False

    of: ClassVar[str] = "row"
    tracks: ClassVar[tuple[str, ...]] = VECTORS


@dataclass(frozen=True)
class Ratio(Binding):
    """A vector of the row at the playhead over another, element by element as far as both go."""

    over: str = ""

    of: ClassVar[str] = "ratio"
    tracks: ClassVar[tuple[str, ...]] = VECTORS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.over not in self.tracks:
            raise ValueError(f"over {self.over!r}: {type(self).__name__} takes {', '.join(self.tracks)}")


@dataclass(frozen=True)
class Past(Folded):
    """A number over the steps, up to the furthest that this viewer has seen; thinned, the step that is shown exact."""

    log: bool = False

    of: ClassVar[str] = "past"
    tracks: ClassVar[tuple[str, ...]] = SCALARS


@dataclass(frozen=True)
class Crosses(Binding):
    """A cross for each step whose number is not finite, and for the step at which the run diverged."""

    of: ClassVar[str] = "crosses"
    tracks: ClassVar[tuple[str, ...]] = SCALARS


@dataclass(frozen=True)
class Frames(Folded):
    """A number of the frames, up to the furthest step that this viewer has seen; `against`: minus another run's."""

    log: bool = False

    of: ClassVar[str] = "frames"
    tracks: ClassVar[tuple[str, ...]] = FRAME_SCALARS


@dataclass(frozen=True)
class AtFrame(Binding):
    """A vector of the frame at or before the playhead; `first`: of the net before training."""

    first: bool = False

    of: ClassVar[str] = "frame"
    tracks: ClassVar[tuple[str, ...]] = FRAME_VECTORS


@dataclass(frozen=True)
class Map(Binding):
    """All rows of a vector so far, as colours over step and depth."""

    of: ClassVar[str] = "map"
    tracks: ClassVar[tuple[str, ...]] = VECTORS


def bound(trace: dict[str, Any], binding: Binding) -> dict[str, Any]:
    """The trace with its binding."""
    return trace | {"bind": binding.to_json()}


def still(trace: dict[str, Any], values: np.ndarray) -> dict[str, Any]:
    """The trace with numbers that stay as they are. What its axis cannot hold is marked as in a bound one."""
    numbers = [value if math.isfinite(value) else str(value) for value in np.asarray(values, float).tolist()]
    return trace | {"bind": {"of": "still", "run": 0, "seed": 0, "values": numbers}}


def held(figure: Figure, *, y: str = "", line: str = "", **how: Any) -> Figure:
    """The figure with how its y axis is held and how the step shown is marked; `how`: what the axis needs besides."""
    for name, value, known in (("y", y, AXES), ("line", line, LINES)):
        if value not in known:
            raise ValueError(f"{name} {value!r}: one of {', '.join(map(repr, known))}")
    return {**figure, "layout": figure["layout"] | {"bind": {"y": y, "line": line, **how}}}


def checked(figure: Figure, runs: int, seeds: int) -> Figure:
    """The figure, if all that it is bound to is on the page; ValueError otherwise."""
    for trace in figure["data"]:
        binding = trace.get("bind")
        if binding is None:
            continue
        if binding["run"] >= runs or (binding.get("against") or 0) >= runs:
            raise ValueError(
                f"{trace.get('name')!r} is bound to run {binding['run']}: there are {runs}, counted from 0"
            )
        if binding["seed"] >= seeds:
            raise ValueError(
                f"{trace.get('name')!r} is bound to seed {binding['seed']}: there are {seeds}, counted from 0"
            )
    return figure
