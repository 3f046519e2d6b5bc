"""Several seeds as one line with a band: the median and the range, with what could not be counted beside them.

Gradients and activations spread by factors, so their median is taken in log space; a loss spreads by differences.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.trace import Trace

# Series that charts show on a log axis: positive, and products of many factors.
LOG_SERIES = {"grad_norm", "act_rms", "grad_rms", "branch_rms", "weight_grad_rms", "update_to_weight"}


@dataclass(frozen=True)
class Band:
    """Over K seeds, at every place of a series: the median and the smallest and largest finite value.

    `mid`, `low`, `high` are float64, NaN where no seed has a finite value. `finite` says how many seeds stand behind a
    place: those that have diverged, ended or overflowed there do not. `zeros` of them are exactly 0 and count as the
    smallest, below any point of a log axis.
    """

    mid: np.ndarray
    low: np.ndarray
    high: np.ndarray
    finite: np.ndarray
    zeros: np.ndarray
    seeds: int

    @property
    def tag(self) -> str:
        """How many seeds there are, and how few are left where the fewest are: "8 seeds, 5 finite at the least"."""
        total = "1 seed" if self.seeds == 1 else f"{self.seeds} seeds"
        fewest = int(self.finite.min(initial=self.seeds))
        return total if fewest == self.seeds else f"{total}, {fewest} finite at the least"


def band(series: Sequence[np.ndarray], *, log: bool = True) -> Band:
    """The band over one array per seed; their first axes may differ in length, a shorter one has ended.

    `log`: the two middle values of an even count are averaged as factors (geometric), else as numbers.
    Raises ValueError for no series, and for a negative number with `log`.
    """
    values = _aligned(series)
    finite = np.isfinite(values)
    if log and (values[finite] < 0).any():
        raise ValueError(f"a value is {values[finite].min():g}; legal on a log scale is 0 or more")
    ordered = np.sort(np.where(finite, values, np.nan), axis=0)  # NaN comes last
    count = finite.sum(axis=0)
    low, under, over, high = (_taken(ordered, at) for at in (0 * count, (count - 1) // 2, count // 2, count - 1))
    between = np.sqrt(under) * np.sqrt(over) if log else under / 2 + over / 2
    mid = np.clip(between, under, over)  # exactly the middle value where there is one
    return Band(mid, low, high, count, (finite & (values == 0)).sum(axis=0), len(values))


def trace_band(traces: Sequence[Trace], series: str) -> Band:
    """The band of one series of rows (loss, act_rms, ...) over the traces of several seeds; row k is step k."""
    return band([getattr(trace, series) for trace in traces], log=series in LOG_SERIES)


def frame_band(traces: Sequence[Trace], series: str) -> tuple[np.ndarray, Band]:
    """The steps of the frames, (F,), and the band of one of their series (sample_cosine, held_out_loss, ...)."""
    steps = max(([frame.step for frame in trace.frames] for trace in traces), key=len)
    taken = [np.array([getattr(frame, series) for frame in trace.frames]) for trace in traces]
    return np.array(steps), band(taken, log=series in LOG_SERIES)


def _aligned(series: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays of different lengths as one (K, T, ...), NaN past the end of each."""
    if not series:
        raise ValueError("series is empty; legal is one seed or more")
    longest = max((np.asarray(one) for one in series), key=len)
    values = np.full((len(series), *longest.shape), np.nan)
    for at, one in enumerate(series):
        if len(one):
            values[at, : len(one)] = one
    return values


def _taken(ordered: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The value of rank `at` at every place."""
    return np.take_along_axis(ordered, np.maximum(at, 0)[None], axis=0)[0]
