"""The cells of a map, the outcomes of their runs, and the units of work with their cost."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from models.insight.outcome import LATELY, final_loss, gradient_change, recent_losses
from models.maps.spec import MapSpec
from models.spec import RunConfig
from models.spec.budget import PER_FURTHER_SEED, RUN_LIMIT, STEP_LIMIT, duration, memory_bytes, step_parts, step_seconds
from models.spec.limits import LIMITS
from models.trace import Trace

TOGETHER = ("seed", "lr", "warmup", "init_gain")  # runs that differ only in these are trained as one
MOST_TOGETHER = 16
LEAST_TOGETHER = 4  # however long they take: batching saves more than a crash can lose
UNIT_SECONDS = 60.0  # about how much work a crash may lose
UNIT_BYTES = 5e8
MAP_SECONDS = LIMITS.map_seconds  # seconds of one core that a map may cost
MOST_CELLS = 2000


@dataclass(frozen=True)
class Cell:
    """One cell of a map: its panel and its values on the axes."""

    arrangement: str
    x: float
    y: float

    def __str__(self) -> str:
        return f"{self.arrangement} {self.x} {self.y}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run of a cell.

    `final_loss` is infinite after a divergence; `accuracy` is held-out, after the last step. `steps_to_target`: the
    first step at which the mean of LATELY losses is at most the target, or None. `gradient_ratio`: decades by which the
    stream's gradient at initialisation grows on its way back. `diverged`: the step of the first non-finite number, or
    None, and `site` where it is.
    """

    arrangement: str
    x: float
    y: float
    seed: int
    final_loss: float
    accuracy: float
    steps_to_target: int | None
    gradient_ratio: float
    diverged: int | None
    site: str = ""

    def packed(self) -> dict[str, Any]:
        """The fields for JSON; numbers that are not finite become text."""
        return {
            name: str(v) if isinstance(v, float) and not math.isfinite(v) else v for name, v in asdict(self).items()
        }

    @staticmethod
    def unpacked(stored: dict[str, Any]) -> "Outcome":
        """The inverse of `packed`. KeyError, TypeError or ValueError for anything else."""
        values = {part.name: stored[part.name] for part in fields(Outcome)}
        for name in ("x", "y", "final_loss", "accuracy", "gradient_ratio"):
            values[name] = float(values[name])
        return Outcome(**values)


Unit = tuple[tuple[Cell, RunConfig], ...]


def outcome(cell: Cell, cfg: RunConfig, trace: Trace, target: float) -> Outcome:
    """The outcome of a cell's run from its finished trace."""
    below = np.flatnonzero(recent_losses(trace.loss) <= target)
    lost = trace.divergence
    return Outcome(
        cell.arrangement,
        cell.x,
        cell.y,
        cfg.seed,
        final_loss=final_loss(trace),
        accuracy=math.nan if lost or not trace.frames else float(trace.frames[-1].held_out_accuracy),
        steps_to_target=int(below[0]) + LATELY - 1 if len(below) else None,
        gradient_ratio=gradient_change(trace),
        diverged=lost.step if lost else None,
        site=lost.site if lost else "",
    )


def cells(spec: MapSpec) -> list[Cell]:
    """All cells in a fixed order: panel by panel, then row by row."""
    return [Cell(name, x, y) for name in spec.arrangements for y in spec.y.values for x in spec.x.values]


def configs(spec: MapSpec, cell: Cell) -> list[RunConfig]:
    """The runs of a cell, one per seed."""
    return [spec.config(cell.arrangement, cell.x, cell.y, seed) for seed in range(spec.seeds)]


@lru_cache(maxsize=32)
def units(spec: MapSpec) -> tuple[Unit, ...]:
    """All runs of a map in units of work, always the same; the runs of a unit differ only in TOGETHER."""
    every: list[list[tuple[Cell, RunConfig]]] = []
    open_units: dict[RunConfig, list[tuple[Cell, RunConfig]]] = {}
    for cell in cells(spec):
        for cfg in configs(spec, cell):
            alike = replace(cfg, **{name: getattr(RunConfig, name) for name in TOGETHER})
            unit = open_units.get(alike)
            if unit is None or len(unit) >= _most(cfg):
                unit = open_units[alike] = []
                every.append(unit)
            unit.append((cell, cfg))
    return tuple(tuple(unit) for unit in every)


def unit_seconds(unit: Unit) -> float:
    """The estimated seconds of a unit on one core."""
    cfg = unit[0][1]
    return step_seconds(cfg) * cfg.steps * (1 + (len(unit) - 1) * PER_FURTHER_SEED)


@lru_cache(maxsize=32)
def refused(spec: MapSpec) -> str:
    """Why this map cannot be run and what would fit, in a sentence; empty if it can."""
    for sentence in _illegal(spec):
        return sentence
    count = len(cells(spec))
    seconds = sum(map(unit_seconds, units(spec)))
    if count > MOST_CELLS:
        return f"This map has {count:,} cells; at most {MOST_CELLS:,} are taken."
    if seconds > MAP_SECONDS:
        share = MAP_SECONDS / seconds
        return (
            f"This map is over budget: its {count:,} cells would take about {duration(seconds)} of one core, and "
            f"{duration(MAP_SECONDS)} is the limit. About {max(1, int(count * share)):,} such cells fit, "
            f"or {max(1, int(dict(spec.base).get('steps', RunConfig.steps) * share))} steps."
        )
    return ""


def _illegal(spec: MapSpec) -> Iterator[str]:
    for cell in cells(spec):
        place = f"{cell.arrangement}, {spec.x.field} {cell.x:g}, {spec.y.field} {cell.y:g}"
        try:
            cfg = configs(spec, cell)[0]
        except (ValueError, TypeError) as error:
            yield f"A cell of this map is no legal configuration ({place}): {error}."
            continue
        if step_seconds(cfg) > STEP_LIMIT or step_seconds(cfg) * cfg.steps > RUN_LIMIT:
            taken = f"a step would take {step_seconds(cfg):.2g} s"
            yield f"A cell of this map is over the budget of one run ({place}): {taken}."


def _most(cfg: RunConfig) -> int:
    """How many such runs are trained as one."""
    alone = sum(step_parts(cfg)) * cfg.steps  # on the reference machine, so that units are the same everywhere
    by_time = max(LEAST_TOGETHER, 1 + int((UNIT_SECONDS / alone - 1) / PER_FURTHER_SEED))
    return max(1, min(MOST_TOGETHER, by_time, int(UNIT_BYTES / memory_bytes(cfg))))
