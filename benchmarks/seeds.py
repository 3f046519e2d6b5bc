"""The cost of several seeds as one batched computation, over that of one seed."""

from collections.abc import Mapping
from functools import partial

from benchmarks.report import Figure
from benchmarks.timing import per_step, ratio, taking_turns
from models.spec import RunConfig
from models.training import Run, SeedRuns

CPU = {"steps": 5000, "device": "cpu"}
TRANSFORMER = {"net": "transformer", "task": "book", "batch": 16, "optimizer": "adam", "lr": 1e-3}
SHAPES = {
    "MLP 16x32": RunConfig(depth=16, width=32, **CPU),  # type: ignore[arg-type]
    "MLP 48x64": RunConfig(depth=48, width=64, **CPU),  # type: ignore[arg-type]
    "transformer 4x32": RunConfig(depth=4, width=32, **TRANSFORMER, **CPU),  # type: ignore[arg-type]
}
GOALS = {"MLP 16x32": 3.5}
STEPS = 16  # of a round: as many as a run takes between two checks for non-finite numbers


def seeds_gain(
    shapes: Mapping[str, RunConfig] = SHAPES, rounds: int = 10, steps: int = STEPS, seeds: int = 8
) -> list[Figure]:
    """A step of all seeds over a step of one, both with all rows; one after another it would be their number."""
    figures = []
    for shape, cfg in shapes.items():
        contenders = {"one": Run(cfg, frames=False).advance, "all": SeedRuns(cfg, range(seeds), frames=False).advance}
        seconds = taking_turns({name: partial(advance, steps) for name, advance in contenders.items()}, rounds)
        note = f"{per_step(seconds, 'one', steps):.2f} ms and {per_step(seconds, 'all', steps):.2f} ms a step"
        figures.append(
            Figure(f"{seeds} seeds / one, {shape}", ratio(seconds, "all", "one"), at_most=GOALS.get(shape), note=note)
        )
    return figures
