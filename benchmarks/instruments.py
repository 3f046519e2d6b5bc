"""The cost of an open instrument, in training steps of the net that it measures; a closed one costs nothing."""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from statistics import median
from typing import Any

from benchmarks.report import Figure
from models.instruments import INSTRUMENTS
from models.spec import RunConfig
from models.training import Replays, Run, Work

SHAPES = {
    "MLP": RunConfig(steps=5000, device="cpu"),
    "transformer": RunConfig.arranged("pre-norm", net="transformer", task="book", depth=4, steps=5000, device="cpu"),
}
BOTH = ("MLP", "transformer")
# By question: the nets that have an answer, and further arguments than the step.
EXAMPLES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "stream": (BOTH, {}),
    "distributions": (BOTH, {}),
    "layer film": (BOTH, {"site": "x0"}),
    "gradient shares": (BOTH, {}),
    "path lengths": (BOTH, {}),
    "signal": (BOTH, {}),
    "trial": (BOTH, {"first": [], "fixed": []}),
    "translation": ((), {}),  # trains a net of its own, on another task
    "few samples": ((), {"norms": ["none"], "samples": 20, "seeds": 1}),  # trains nets of its own
    "update": (BOTH, {}),
    "smoothness": (BOTH, {}),
    "smoothness with noise": (BOTH, {}),
    "edge of stability": (BOTH, {}),
    "covariate shift": ((), {"block": 1, "shift": 0.5}),  # trains nets of its own
    "check": (BOTH, {"block": 1}),
    "health": (BOTH, {}),
    "surgery": (BOTH, {"operation": "skip a block", "block": 1}),
    "lesions": (BOTH, {}),
    "sublayers": (("transformer",), {}),
    "collapse": (BOTH, {}),
    "lens": (BOTH, {}),
    "continuation": (("transformer",), {"text": "Call me Ish", "count": 10}),
    "revision": (("transformer",), {"text": "Call me Ish"}),
    "replacement": (("transformer",), {"text": "Call me Ish", "at": 5, "token": "o"}),
    "cached": (("transformer",), {"text": "Call me Ish"}),
    "refinement": (("transformer",), {"text": "Call me Ish"}),
    "lookup": (("transformer",), {"text": "Call me Ish"}),
    "place": (("transformer",), {}),
    "beyond": (("transformer",), {}),
    "landscape": (BOTH, {"cells": 15}),
    "sharpness": (BOTH, {}),
    "stream jacobian": (BOTH, {}),
}
STEPS = 16


def instruments(shapes: Mapping[str, RunConfig] = SHAPES, rounds: int = 3, steps: int = STEPS) -> list[Figure]:
    """Processor time of an answer about step 0 over that of a training step with all rows."""
    figures = []
    for shape, cfg in shapes.items():
        run = Run(cfg, frames=False)
        run.advance(steps)
        step = median(_seconds(partial(run.advance, steps)) for _ in range(rounds)) / steps
        for name, (shape_names, args) in EXAMPLES.items():
            if shape in shape_names:
                seconds, longest = _answer_seconds(name, cfg, args, rounds)
                note = f"{1e3 * seconds:.0f} ms, longest slice {1e3 * longest:.0f} ms"
                figures.append(Figure(f"{name} / a training step, {shape}", seconds / step, note=note))
    return figures


def _answer_seconds(name: str, cfg: RunConfig, args: dict[str, Any], rounds: int) -> tuple[float, float]:
    """Seconds of an answer, as the median over the rounds, and of its longest slice."""
    totals: list[float] = []
    longest = 0.0
    for _ in range(rounds):
        slices = list(_slice_seconds(INSTRUMENTS[name](Replays(), cfg, step=0, **args)))
        totals.append(sum(slices))
        longest = max(longest, *slices, 0.0)
    return median(totals), longest


def _slice_seconds(work: Work[Any]) -> Iterator[float]:
    is_running = True
    while is_running:
        started_at = time.process_time()
        is_running = next(work, None) is not None
        yield time.process_time() - started_at


def _seconds(work: Callable[[], object]) -> float:
    started_at = time.process_time()
    work()
    return time.process_time() - started_at
