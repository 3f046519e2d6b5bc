"""Bindings: which numbers a trace shows, of a tape or its own. Python declares them, and the browser fills them in.

A bound trace has a key `bind`, and a `role` that gives its look or attributes of plotly's.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from components.charts.parts import Figure, numbers
from models.trace import SCALARS, Columns, Frame

VECTORS = tuple(Columns((), (), 0).slices)
FRAME_VECTORS = ("sample_cosine", "update_to_weight", "dead_units")
FRAME_SCALARS = ("held_out_loss", "held_out_accuracy")
FOLDS = ("", "median")
assert {*FRAME_VECTORS, *FRAME_SCALARS} < {part.name for part in fields(Frame)}


@dataclass(frozen=True)
class Binding:
    """A track of a run and a seed, both by their number; subclasses say which part of the track."""

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
    """A binding that may fold all seeds into their median, with their range as a band; `log`: of logarithms.

    `against`: the number of a run by whose values these are divided, or whose losses are subtracted.
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
    """A vector of the row at the playhead: one value per site, branch or block. A log axis marks what it cannot show.

    `first`: of the net before training, wherever the playhead is. `over`: divided by this vector, up to the end of the
    shorter.
    """

    first: bool = False
    over: str = ""

    of: ClassVar[str] = "row"
    tracks: ClassVar[tuple[str, ...]] = VECTORS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.over not in ("", *self.tracks):
            raise ValueError(f"over {self.over!r}: {type(self).__name__} takes {', '.join(self.tracks)}")


@dataclass(frozen=True)
class Past(Folded):
    """A number over the steps, up to the furthest that this viewer has seen; thinned, but exact at a marked step."""

    log: bool = False

    of: ClassVar[str] = "past"
    tracks: ClassVar[tuple[str, ...]] = SCALARS


@dataclass(frozen=True)
class Crosses(Binding):
    """A cross at every step whose number is not finite, and at the step at which the run diverged."""

    of: ClassVar[str] = "crosses"
    tracks: ClassVar[tuple[str, ...]] = SCALARS


@dataclass(frozen=True)
class Frames(Folded):
    """A number of every frame, up to the furthest step that this viewer has seen; `against`: minus another run's."""

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
    """A vector of every row so far, as colours over step and depth."""

    of: ClassVar[str] = "map"
    tracks: ClassVar[tuple[str, ...]] = VECTORS


def bound(trace: dict[str, Any], binding: Binding) -> dict[str, Any]:
    """The trace with its binding."""
    return trace | {"bind": binding.to_json()}


def fixed_trace(trace: dict[str, Any], values: np.ndarray, *, start: int = 0, ghost: bool = False) -> dict[str, Any]:
    """The trace with numbers of its own, from the place `start` on.

    `ghost`: of the net before, which is left out where it is far off the axes of the net shown.
    """
    measured = np.arange(len(values)) >= start
    return trace | {"bind": {"of": "still", "values": numbers(values, measured), "ghost": ghost}}


def fixed_map(
    trace: dict[str, Any], cells: np.ndarray, measured: np.ndarray | None = None, **how: bool
) -> dict[str, Any]:
    """A heatmap of cells (rows, columns), None where they are not `measured`; it marks what has no colour.

    `how`: `log` unless false, `signed` (from -most to most), `bare` (without marks).
    """
    shape = {"x": list(range(cells.shape[1])), "y": list(range(cells.shape[0])), "hoverongaps": False}
    return {"type": "heatmap", **shape, **trace, "bind": {"of": "cells", "values": numbers(cells, measured), **how}}


def checked(figure: Figure, runs: int, seeds: int) -> Figure:
    """The figure, if all that it is bound to is on the page; ValueError otherwise."""
    for trace in figure["data"]:
        binding = trace.get("bind")
        if binding is None or "run" not in binding:
            continue
        name, run, seed = trace.get("name"), max(binding["run"], binding.get("against") or 0), binding["seed"]
        if run >= runs:
            raise ValueError(f"{name!r} is bound to run {run}: there are {runs}, counted from 0")
        if seed >= seeds:
            raise ValueError(f"{name!r} is bound to seed {seed}: there are {seeds}, counted from 0")
    return figure
