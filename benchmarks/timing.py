"""Fair comparison on a shared machine: contenders take turns, and medians over the rounds are compared."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from models.spec import RunConfig
from models.training import Run

Work = Callable[[], object]


def taking_turns(contenders: Mapping[str, Work], rounds: int) -> dict[str, list[float]]:
    """Processor seconds of each contender in each round, in an order that turns around every round.

    They are this process's, of all threads: what other processes do in between does not count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for at in range(rounds):
        for name in names if at % 2 else reversed(names):
            began = time.process_time()
            contenders[name]()
            seconds[name].append(time.process_time() - began)
    return seconds


def ratio(seconds: Mapping[str, list[float]], name: str, base: str) -> float:
    """The median over the rounds of one contender's time over another's."""
    return median(a / b for a, b in zip(seconds[name], seconds[base], strict=True))


def per_step(seconds: Mapping[str, list[float]], name: str, steps: int) -> float:
    """Milliseconds of a step of one contender, which makes so many in a round."""
    return 1e3 * sum(seconds[name]) / len(seconds[name]) / steps


def overall(seconds: Mapping[str, list[float]], name: str, base: str) -> float:
    """All of one contender's time over all of another's, for work that falls into some rounds only."""
    return sum(seconds[name]) / sum(seconds[base])


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that this percentage of all values does not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def spread(values: Sequence[float]) -> str:
    """Count, median and maximum in words."""
    return f"{len(values)} measured, median {median(values):.2f}, most {max(values):.2f}"


def stolen() -> tuple[float, float]:
    """Processor time since the machine started: what its host gave to others, and the whole (Linux; elsewhere 0, 1)."""
    stat = Path("/proc/stat")
    ticks = [float(word) for word in stat.read_text().split("\n", 1)[0].split()[1:9]] if stat.exists() else [1.0]
    return (ticks[7] if len(ticks) > 7 else 0.0), sum(ticks)


def default_step(steps: int = 30) -> float:
    """Seconds that a training step of the default network takes just now, the median."""
    run = Run(RunConfig(steps=2 * steps, device="cpu"))
    taken = []
    for _ in range(steps):
        began = time.perf_counter()
        run.advance(1)
        taken.append(time.perf_counter() - began)
    return median(taken)
