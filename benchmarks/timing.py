"""Fair comparison on a shared machine: contenders take turns, and their medians over the rounds are compared."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from models.spec import RunConfig
from models.training import Run

Work = Callable[[], object]


def interleaved_seconds(contenders: Mapping[str, Work], rounds: int) -> dict[str, list[float]]:
    """Processor seconds of each contender in each round; the order is reversed every round.

    They are those of this process, summed over its threads, so that other processes do not count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(rounds):
        for name in names if number % 2 else reversed(names):
            started_at = time.process_time()
            contenders[name]()
            seconds[name].append(time.process_time() - started_at)
    return seconds


def ratio(seconds: Mapping[str, list[float]], name: str, base: str) -> float:
    """The time of contender `name` in units of that of `base`: the median over the rounds."""
    return median(a / b for a, b in zip(seconds[name], seconds[base], strict=True))


def milliseconds_per_step(seconds: Mapping[str, list[float]], name: str, steps: int) -> float:
    """Milliseconds of a step of a contender that makes `steps` of them a round."""
    return 1e3 * sum(seconds[name]) / len(seconds[name]) / steps


def overall_ratio(seconds: Mapping[str, list[float]], name: str, base: str) -> float:
    """The ratio of total times, for work that falls into some rounds only."""
    return sum(seconds[name]) / sum(seconds[base])


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` percent of all values do not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def spread(values: Sequence[float]) -> str:
    """Count, median and maximum in words."""
    return f"{len(values)} measured, median {median(values):.2f}, most {max(values):.2f}"


def stolen_ticks() -> tuple[float, float]:
    """Processor ticks since the start of the machine: stolen by its host, and total (0 and 1 except on Linux)."""
    stat = Path("/proc/stat")
    ticks = [float(word) for word in stat.read_text().split("\n", 1)[0].split()[1:9]] if stat.exists() else [1.0]
    return (ticks[7] if len(ticks) > 7 else 0.0), sum(ticks)


def default_step_seconds(steps: int = 30) -> float:
    """Median wall seconds of a training step of the default network."""
    run = Run(RunConfig(steps=2 * steps, device="cpu"))
    durations = []
    for _ in range(steps):
        started_at = time.perf_counter()
        run.advance(1)
        durations.append(time.perf_counter() - started_at)
    return median(durations)
