"""Cells of a map, outcomes of their runs, and units of work with their cost."""

import math
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from models.insight.outcome import RECENT_ROWS, final_loss, gradient_change, recent_losses
from models.maps.spec import MAX_RUNS_OF_MAP, MapSpec
from models.spec import RunConfig
from models.spec.budget import (
    MAX_RUN_SECONDS,
    MAX_STEP_SECONDS,
    PER_EXTRA_SEED,
    Machine,
    format_duration,
    memory_bytes,
    reference_step_cost,
)
from models.spec.limits import LIMITS
from models.trace import Trace

BATCHED_FIELDS = ("seed", "lr", "warmup", "init_gain")  # runs that differ only in these train as one batch of nets
MAX_RUNS_OF_UNIT = 16
MIN_RUNS_OF_UNIT = 4  # even beyond UNIT_SECONDS: batching saves more than a crash can lose
UNIT_SECONDS = 60.0  # approximate duration of a unit, and so the work that a crash may lose
UNIT_BYTES = 5e8  # memory limit of a unit
MAP_SECONDS = LIMITS.map_seconds  # of one core, for a whole map


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a map: its panel and its values on the axes."""

    arrangement: str
    x: float
    y: float

    def __str__(self) -> str:
        return f"{self.arrangement} {self.x} {self.y}"


@dataclass(frozen=True)
class Outcome:
    """Outcome of one run of a cell.

    `final_loss`: infinite after a divergence. `accuracy`: held-out, after the last step. `steps_to_target`: first step
    at which a mean of RECENT_ROWS losses is at most the target, or None. `gradient_ratio`: growth of the gradient from
    the end of the stream to its start at initialisation, in decades. `diverged`, `site`: step and place of the first
    non-finite number, or None and "".
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

    def to_dict(self) -> dict[str, Any]:
        """The fields for JSON; non-finite numbers become text."""
        return {
            name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        }

    @staticmethod
    def from_dict(stored: dict[str, Any]) -> "Outcome":
        """The inverse of `to_dict`; KeyError, TypeError or ValueError for malformed input."""
        values = {spec_field.name: stored[spec_field.name] for spec_field in fields(Outcome)}
        for name in ("x", "y", "final_loss", "accuracy", "gradient_ratio"):
            values[name] = float(values[name])
        return Outcome(**values)


@dataclass(frozen=True, slots=True)
class Unit:
    """Runs (cell, seed) that train as one batch of nets; they differ only in BATCHED_FIELDS.

    `steps`: of each run. `fixed`, `growing`: both parts of a step's cost on the reference machine, in seconds.
    """

    runs: tuple[tuple[Cell, int], ...]
    steps: int
    fixed: float
    growing: float

    def __len__(self) -> int:
        return len(self.runs)

    def configs(self, spec: MapSpec) -> list[RunConfig]:
        """Configurations of the runs, in their order."""
        return [spec.config(cell.arrangement, cell.x, cell.y, seed) for cell, seed in self.runs]

    def step_seconds(self, machine: Machine) -> float:
        """Estimated seconds per step of a single run, on one core."""
        return machine.fixed * self.fixed + machine.growing * self.growing

    def seconds(self, machine: Machine) -> float:
        """Estimated seconds of the whole unit on one core."""
        return self.step_seconds(machine) * self.steps * (1 + (len(self) - 1) * PER_EXTRA_SEED)


def outcome(cell: Cell, cfg: RunConfig, trace: Trace, target: float) -> Outcome:
    """Outcome of a cell's run from its finished trace."""
    reached = np.flatnonzero(recent_losses(trace.loss) <= target)
    divergence = trace.divergence
    return Outcome(
        cell.arrangement,
        cell.x,
        cell.y,
        cfg.seed,
        final_loss=final_loss(trace),
        accuracy=math.nan if divergence or not trace.frames else float(trace.frames[-1].held_out_accuracy),
        steps_to_target=int(reached[0]) + RECENT_ROWS - 1 if len(reached) else None,
        gradient_ratio=gradient_change(trace),
        diverged=divergence.step if divergence else None,
        site=divergence.site if divergence else "",
    )


def cells(spec: MapSpec) -> list[Cell]:
    """All cells in a fixed order: panel by panel, then row by row."""
    return [Cell(name, x, y) for name in spec.arrangements for y in spec.y.values for x in spec.x.values]


def configs(spec: MapSpec, cell: Cell) -> list[RunConfig]:
    """Configurations of a cell, one per seed."""
    return [spec.config(cell.arrangement, cell.x, cell.y, seed) for seed in range(spec.seeds)]


@lru_cache(maxsize=16)
def units(spec: MapSpec) -> tuple[Unit, ...]:
    """Deterministic partition of a map's runs into units of work. ValueError with a sentence for an illegal cell."""
    unit_runs: list[tuple[list[tuple[Cell, int]], RunConfig]] = []
    open_units: dict[RunConfig, list[tuple[Cell, int]]] = {}  # the unit that takes further runs, by base configuration
    base_cfgs: dict[tuple[Any, ...], RunConfig] = {}
    for cell in cells(spec):
        try:
            cfg = configs(spec, cell)[0]
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"A cell of this map is not a legal configuration ({_cell_in_words(spec, cell)}): {error}."
            ) from None
        axes = ((spec.x.field, cell.x), (spec.y.field, cell.y))
        shared_values = (cell.arrangement, *(value for field, value in axes if field not in BATCHED_FIELDS))
        if shared_values not in base_cfgs:
            base_cfgs[shared_values] = replace(cfg, **{name: getattr(RunConfig, name) for name in BATCHED_FIELDS})
        base_cfg = base_cfgs[shared_values]
        for seed in range(spec.seeds):
            runs = open_units.get(base_cfg)
            if runs is None or len(runs) >= _max_runs_of_unit(base_cfg):
                runs = open_units[base_cfg] = []
                unit_runs.append((runs, base_cfg))
            runs.append((cell, seed))
    return tuple(Unit(tuple(runs), base_cfg.steps, *reference_step_cost(base_cfg)) for runs, base_cfg in unit_runs)


def refusal_reason(spec: MapSpec, machine: Machine, *, cluster: bool = False) -> str:
    """Why a machine cannot compute this map and what would fit, in a sentence; empty if it can.

    `cluster`: a scheduler distributes the map, so only single runs are bounded.
    """
    if spec.runs > MAX_RUNS_OF_MAP and not cluster:  # checked before `units` creates them
        of_seeds = f" of {spec.seeds} seeds" if spec.seeds > 1 else ""
        size = f"{spec.runs:,} runs, in {spec.cells:,} cells{of_seeds}"
        return f"This map has {size}; at most {MAX_RUNS_OF_MAP:,} are allowed."
    try:
        all_units = units(spec)
    except ValueError as error:
        return str(error)
    for unit in all_units:
        step = unit.step_seconds(machine)
        if step > MAX_STEP_SECONDS or step * unit.steps > MAX_RUN_SECONDS:
            cost = f"a step would take {step:.2g} s"
            return (
                f"A cell of this map is over the budget of one run ({_cell_in_words(spec, unit.runs[0][0])}): {cost}."
            )
    seconds = sum(unit.seconds(machine) for unit in all_units)
    if seconds > MAP_SECONDS and not cluster:
        share = MAP_SECONDS / seconds
        return (
            f"This map is over budget: its {spec.cells:,} cells would take about {format_duration(seconds)} of one "
            f"core, and {format_duration(MAP_SECONDS)} is the limit. About {max(1, int(spec.cells * share)):,} such "
            f"cells fit, or {max(1, int(all_units[0].steps * share))} steps."
        )
    return ""


def _cell_in_words(spec: MapSpec, cell: Cell) -> str:
    return f"{cell.arrangement}, {spec.x.field} {cell.x:g}, {spec.y.field} {cell.y:g}"


@lru_cache(maxsize=64)
def _max_runs_of_unit(cfg: RunConfig) -> int:
    """Largest number of runs of this configuration in a unit."""
    # The reference machine's cost, so that all machines agree on the units.
    run_seconds = sum(reference_step_cost(cfg)) * cfg.steps
    by_time = max(MIN_RUNS_OF_UNIT, 1 + int((UNIT_SECONDS / run_seconds - 1) / PER_EXTRA_SEED))
    return max(1, min(MAX_RUNS_OF_UNIT, by_time, int(UNIT_BYTES / memory_bytes(cfg))))
