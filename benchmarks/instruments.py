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
# By question: the nets that can be asked it, and its arguments besides the step.
EXAMPLES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "stream": (BOTH, {}),
    "distributions": (BOTH, {}),
    "layer film": (BOTH, {"site": "x0"}),
    "gradient shares": (BOTH, {}),
    "path lengths": (BOTH, {}),
    "signal": (BOTH, {}),
    "trial": (BOTH, {"first": [], "fixed": []}),
    "translation": ((), {}),  # trains a net of its own, on a task that neither of these has
    "few samples": ((), {"norms": ["none"], "samples": 20, "seeds": 1}),  # trains nets of its own
    "update": (BOTH, {}),
    "smoothness": (BOTH, {}),
    "smoothness with noise": (BOTH, {}),
    "edge of stability": (BOTH, {}),
    "covariate shift": ((), {"block": 1, "shift": 0.5}),  # the same
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
        for name, (fits, args) in EXAMPLES.items():
            if shape in fits:
                taken, longest = _answered(name, cfg, args, rounds)
                note = f"{1e3 * taken:.0f} ms, longest slice {1e3 * longest:.0f} ms"
                figures.append(Figure(f"{name} / a training step, {shape}", taken / step, note=note))
    return figures


def _answered(name: str, cfg: RunConfig, args: dict[str, Any], rounds: int) -> tuple[float, float]:
    """Seconds of an answer, as the median over the rounds, and of its longest slice."""
    whole, longest = [], 0.0
    for _ in range(rounds):
        slices = list(_slices(INSTRUMENTS[name](Replays(), cfg, step=0, **args)))
        whole.append(sum(slices))
        longest = max(longest, *slices, 0.0)
    return median(whole), longest


def _slices(work: Work[Any]) -> Iterator[float]:
    """The seconds of every slice of some work."""
    going = True
    while going:
        began = time.process_time()
        going = next(work, None) is not None
        yield time.process_time() - began


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
