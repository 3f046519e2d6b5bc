"""How much slower this machine is than the budget's reference machine, measured with two small nets."""

import time
from statistics import median

import numpy as np

from models.spec import RunConfig
from models.spec.budget import Machine, reference_step_cost
from models.training import Run

# A step of the deep net is mostly fixed costs, a step of the wide one mostly multiply-adds.
DEEP_NET = RunConfig(depth=32, width=32, batch=32, device="cpu")
WIDE_NET = RunConfig(net="transformer", task="book", depth=2, width=64, batch=32, device="cpu")
SECONDS_PER_NET = 0.03
MIN_STEPS = 3
# Times a step of the reference machine; anything beyond is a measurement error.
MIN_SLOWDOWN = 0.5
MAX_SLOWDOWN = 8.0


def measure_machine() -> Machine:
    """This machine, from the step times of both nets; takes a tenth of a second of CPU time."""
    return fit_machine(_step_seconds(DEEP_NET), _step_seconds(WIDE_NET))


def fit_machine(deep_seconds: float, wide_seconds: float) -> Machine:
    """The machine on which a step of each net takes these seconds."""
    costs = np.array([reference_step_cost(cfg) for cfg in (DEEP_NET, WIDE_NET)])
    fixed, growing = np.linalg.solve(costs, [deep_seconds, wide_seconds]).clip(MIN_SLOWDOWN, MAX_SLOWDOWN)
    return Machine(round(float(fixed), 2), round(float(growing), 2))


def _step_seconds(cfg: RunConfig) -> float:
    """Median CPU seconds of a step."""
    run = Run(cfg, frames=False)
    run.advance(1)
    durations: list[float] = []
    while len(durations) < MIN_STEPS or sum(durations) < SECONDS_PER_NET:
        started_at = time.process_time()
        run.advance(1)
        durations.append(time.process_time() - started_at)
    return median(durations)
