"""The cost of measuring a net while it trains: a run with rows over the bare loop."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from benchmarks.report import Figure
from benchmarks.timing import interleaved_seconds, milliseconds_per_step, overall_ratio, ratio
from models.spec import RunConfig
from models.spec.vocabulary import CONNECTED
from models.training import Run
from tests.training.bare_loop import BareLoop, Loop

ADAM = {"optimizer": "adam", "lr": 1e-3, "steps": 5000, "device": "cpu"}
SHAPES = {
    "MLP 16x32": RunConfig(depth=16, width=32, batch=128, **ADAM),  # type: ignore[arg-type]
    "MLP 48x64": RunConfig(depth=48, width=64, batch=128, **ADAM),  # type: ignore[arg-type]
    "transformer 8x64": RunConfig(net="transformer", task="book", depth=8, width=64, batch=32, **ADAM),  # type: ignore[arg-type]
}
DIGITS = RunConfig(depth=32, width=64, batch=64, **ADAM)  # type: ignore[arg-type]
# What stands beside the branches since 2024.
CONNECTIONS = {
    **{name: replace(DIGITS, stack=name) for name in ("learned scalars", *CONNECTED)},
    "attention residuals, sums of 8": replace(DIGITS, stack="attention residuals", depth_block=8),
    "dynamic erf": replace(DIGITS, norm="dynamic erf"),
    "Muon": replace(DIGITS, optimizer="muon", lr=0.02),
    "value residual": replace(SHAPES["transformer 8x64"], value_residual=True),
}
STEPS = 16  # per round: those between two of a run's checks for non-finite numbers


def probe(
    shapes: Mapping[str, RunConfig] = SHAPES,
    rounds: int = 20,
    steps: int = STEPS,
    goals: tuple[float, float] = (1.15, 1.2),
) -> list[Figure]:
    """Time of a run with rows, and with frames, over that of the bare loop with the same model, batches, optimiser."""
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
            Figure(f"rows / bare loop, {shape}", ratio(seconds, "rows", "bare"), at_most=goals[0], note=bare),
            Figure(
                f"rows and frames / bare loop, {shape}",
                overall_ratio(seconds, "frames", "bare"),
                at_most=goals[1],
                note=run_note,
            ),
        ]
    return figures


def connections(rounds: int = 10) -> list[Figure]:
    """The same for every kind of connection, norm and optimiser of CONNECTIONS."""
    return probe(CONNECTIONS, rounds, goals=(1.35, 1.35))
