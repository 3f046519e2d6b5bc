"""Outcomes of a map as a data frame, or as one number per cell for a chart."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from models.maps.cells import Outcome
from models.maps.spec import MapSpec
from models.spec import knobs

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Measure:
    """A quantity that colours a map: label, unit, its value for a run, and whether the scale is logarithmic."""

    label: str
    unit: str
    value: Callable[[Outcome], float]
    log: bool = False


MEASURES: dict[str, Measure] = {
    "final loss": Measure("Final loss", "nats", lambda run: run.final_loss, log=True),
    "held-out accuracy": Measure("Held-out accuracy", "share", lambda run: run.accuracy),
    "steps to target": Measure(
        "Steps to target",
        "steps",
        lambda run: np.nan if run.steps_to_target is None else float(run.steps_to_target),
        log=True,
    ),
    "gradient ratio": Measure("Gradient ratio at initialisation", "decades", lambda run: run.gradient_ratio),
    "first non-finite step": Measure(
        "First non-finite step",
        "step",
        lambda run: np.nan if run.diverged is None else float(run.diverged),
    ),
}


# Column names of an outcome's fields, with their units.
COLUMNS = {
    "final_loss": "final_loss_nats",
    "accuracy": "held_out_accuracy_share",
    "gradient_ratio": "gradient_ratio_decades",
    "diverged": "first_non_finite_step",
    "site": "first_non_finite_site",
}
INTEGER_COLUMNS = {
    "steps_to_target",
    "first_non_finite_step",
    *(name for name, (kinds, _) in knobs().items() if kinds == (int,)),
}


def by_cell(spec: MapSpec, outcomes: Sequence[Outcome]) -> dict[tuple[str, float, float], list[Outcome]]:
    """Finished runs by (arrangement, x, y), in order of their seeds."""
    runs: dict[tuple[str, float, float], list[Outcome]] = {}
    for run in sorted(outcomes, key=lambda run: run.seed):
        runs.setdefault((run.arrangement, run.x, run.y), []).append(run)
    return runs


def grid(spec: MapSpec, outcomes: Sequence[Outcome], arrangement: str, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """Values of one panel, averaged over seeds, and the earliest step at which a seed diverged, (Y, X) each.

    Logarithmic measures are averaged geometrically. NaN: not computed, no seed has the measure, or none diverged. A
    cell with a diverged seed has neither final loss nor accuracy.
    """
    quantity = MEASURES[measure]
    cells = by_cell(spec, outcomes)
    values = np.full((len(spec.y.values), len(spec.x.values)), np.nan)
    diverged_at = values.copy()
    for row, y in enumerate(spec.y.values):
        for column, x in enumerate(spec.x.values):
            runs = cells.get((arrangement, x, y), [])
            steps = [run.diverged for run in runs if run.diverged is not None]
            if steps:
                diverged_at[row, column] = min(steps)
            numbers = np.array([quantity.value(run) for run in runs], float)
            numbers = numbers[np.isfinite(numbers)]
            if not len(numbers) or (steps and measure in ("final loss", "held-out accuracy")):
                continue
            is_geometric = quantity.log and (numbers > 0).all()
            values[row, column] = np.exp(np.log(numbers).mean()) if is_geometric else numbers.mean()
    return values, diverged_at


def frame_of(spec: MapSpec, outcomes: Sequence[Outcome]) -> "pd.DataFrame":
    """Data frame of one row per run, in the order of the cells: arrangement, both axes, seed, and all measures.

    Column names include units; integer columns stay integer.
    """
    import pandas as pd

    order = {name: index for index, name in enumerate(spec.arrangements)}
    runs = sorted(outcomes, key=lambda run: (order[run.arrangement], run.y, run.x, run.seed))
    names = COLUMNS | {"x": spec.x.field, "y": spec.y.field}
    rows = [{names.get(name, name): value for name, value in asdict(run).items()} for run in runs]
    frame = pd.DataFrame(rows)
    for name in INTEGER_COLUMNS & set(frame):
        frame[name] = frame[name].astype("Int64")
    return frame
