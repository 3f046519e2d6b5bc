"""The cost of measuring a net while it trains: a run with rows over the bare loop."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from benchmarks.report import Figure
from benchmarks.timing import interleaved_seconds, milliseconds_per_step, overall_ratio, ratio
from models.spec import RunConfig
from models.training import Run
from tests.training.bare_loop import BareLoop, Loop

ADAM = {"optimizer": "adam", "lr": 1e-3, "steps": 5000, "device": "cpu"}
SHAPES = {
    "MLP 16x32": RunConfig(depth=16, width=32, batch=128, **ADAM),  # type: ignore[arg-type]
    "MLP 48x64": RunConfig(depth=48, width=64, batch=128, **ADAM),  # type: ignore[arg-type]
    "transformer 8x64": RunConfig(net="transformer", task="book", depth=8, width=64, batch=32, **ADAM),  # type: ignore[arg-type]
}
STEPS = 16  # per round: those between two of a run's checks for non-finite numbers


def probe(shapes: Mapping[str, RunConfig] = SHAPES, rounds: int = 20, steps: int = STEPS) -> list[Figure]:
    """Time of a run with rows, and with frames, over that of the bare loop with the same model, batches and Adam."""
    figures = []
    for shape, cfg in shapes.items():
        loops: dict[str, Loop] = {
            "bare": BareLoop(cfg),
            "rows": Run(cfg, frames=False).advance,
            "frames": Run(replace(cfg, steps=rounds * steps)).advance,
        }
        seconds = interleaved_seconds({name: partial(loop, steps) for name, loop in loops.items()}, rounds)
        bare = f"bare: {milliseconds_per_step(seconds, 'bare', steps):.2f} ms a step"
        run_note = f"a whole run of {rounds * steps} steps"
        figures += [
            Figure(f"rows / bare loop, {shape}", ratio(seconds, "rows", "bare"), at_most=1.15, note=bare),
            Figure(
                f"rows and frames / bare loop, {shape}",
                overall_ratio(seconds, "frames", "bare"),
                at_most=1.20,
                note=run_note,
            ),
        ]
    return figures
