"""The cost of several seeds as one batched computation, over that of one seed."""

from collections.abc import Mapping
from functools import partial

from benchmarks.report import Figure
from benchmarks.timing import interleaved_seconds, milliseconds_per_step, ratio
from models.spec import RunConfig
from models.training import Run, SeedRuns

CPU = {"steps": 5000, "device": "cpu"}
TRANSFORMER = {"net": "transformer", "task": "book", "batch": 16, "optimizer": "adam", "lr": 1e-3}
SHAPES = {
    "MLP 16x32": RunConfig(depth=16, width=32, **CPU),  # type: ignore[arg-type]
    "MLP 48x64": RunConfig(depth=48, width=64, **CPU),  # type: ignore[arg-type]
    "transformer 4x32": RunConfig(depth=4, width=32, **TRANSFORMER, **CPU),  # type: ignore[arg-type]
}
GOALS = {"MLP 16x32": 3.5}  # most time of all seeds, in steps of one seed
STEPS = 16  # per round: those between two of a run's checks for non-finite numbers


def seeds_gain(
    shapes: Mapping[str, RunConfig] = SHAPES, rounds: int = 10, steps: int = STEPS, seeds: int = 8
) -> list[Figure]:
    """Time of a step of all seeds over that of one seed, both with all rows; without batching it is `seeds`."""
    figures = []
    for shape, cfg in shapes.items():
        contenders = {"one": Run(cfg, frames=False).advance, "all": SeedRuns(cfg, range(seeds), frames=False).advance}
        seconds = interleaved_seconds({name: partial(advance, steps) for name, advance in contenders.items()}, rounds)
        single = milliseconds_per_step(seconds, "one", steps)
        batched = milliseconds_per_step(seconds, "all", steps)
        note = f"{single:.2f} ms and {batched:.2f} ms a step"
        factor = ratio(seconds, "all", "one")
        figures.append(Figure(f"{seeds} seeds / one, {shape}", factor, at_most=GOALS.get(shape), note=note))
    return figures
