"""How much slower this machine is than the budget's reference machine, measured with two small nets."""

import time
from statistics import median

import numpy as np

from models.spec import RunConfig
from models.spec.budget import Machine, step_parts
from models.training import Run

# A step of the first is mostly fixed costs, one of the second mostly numbers and multiply-adds.
PARTS = RunConfig(depth=32, width=32, batch=32, device="cpu")
NUMBERS = RunConfig(net="transformer", task="book", depth=2, width=64, batch=32, device="cpu")
SECONDS = 0.03  # of measuring, for each
MIN_STEPS = 3
SLOWEST, FASTEST = 8.0, 0.5  # times the reference machine: anything beyond is a measurement error


def measured() -> Machine:
    """This machine, from the steps of both nets; takes a tenth of a second of CPU time."""
    return machine_of(_step(PARTS), _step(NUMBERS))


def machine_of(parts: float, numbers: float) -> Machine:
    """The machine on which a step of each net takes these seconds."""
    costs = np.array([step_parts(cfg) for cfg in (PARTS, NUMBERS)])
    fixed, growing = np.linalg.solve(costs, [parts, numbers]).clip(FASTEST, SLOWEST)
    return Machine(round(float(fixed), 2), round(float(growing), 2))


def _step(cfg: RunConfig) -> float:
    """The median CPU seconds of a few steps."""
    run = Run(cfg, frames=False)
    run.advance(1)
    taken: list[float] = []
    while len(taken) < MIN_STEPS or sum(taken) < SECONDS:
        began = time.process_time()
        run.advance(1)
        taken.append(time.process_time() - began)
    return median(taken)
