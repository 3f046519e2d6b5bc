"""Sensitivity to the learning rate: the range of rates that reach the target, the best rate, effects of warm-up."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from addnorm.coordinate_check import slope
from models.insight.words import count_in_words, factor
from models.maps.cells import Outcome, cells
from models.maps.spec import MapSpec
from models.maps.table import grid

FLAT_SLOPE = 0.25  # largest |slope| of the best rate over width that counts as flat; 1/width has slope -1


@dataclass(frozen=True)
class RateRange:
    """Decades of learning rate that reach the target, by seed (K,), of an arrangement at a value of the other axis.

    0 decades: no rate reaches it. `edge`: a range touches an end of the axis, so that it may be wider than shown.
    """

    arrangement: str
    other: float
    decades: np.ndarray
    edge: bool


@dataclass(frozen=True)
class BestRates:
    """Best learning rate by width: that of the least final loss, geometric mean over seeds."""

    rates: dict[float, float]
    slope: float  # of the rate over the width, on log-log axes

    @property
    def is_flat(self) -> bool:
        """Whether the rate depends on the width far less than 1/width."""
        return abs(self.slope) <= FLAT_SLOPE


def best_rates(spec: MapSpec, outcomes: Sequence[Outcome]) -> BestRates | None:
    """Best rates of a finished map of one arrangement over learning rate and width; None for any other map."""
    if {spec.x.field, spec.y.field} != {"lr", "width"} or len(spec.arrangements) > 1 or len(outcomes) < spec.runs:
        return None
    losses, _ = grid(spec, outcomes, spec.arrangements[0], "final loss")
    rates, widths = spec.x.values, spec.y.values
    if spec.x.field == "width":
        losses = losses.T
        rates, widths = widths, rates
    best: dict[float, float] = {}
    for width, row in zip(widths, losses, strict=True):
        if np.isfinite(row).any():
            best[width] = rates[int(np.nanargmin(row))]
    return BestRates(best, slope(list(best), list(best.values())))


def rate_axis(spec: MapSpec) -> str:
    """The axis with several learning rates, "x" or "y"; "" without one."""
    for name, axis in (("x", spec.x), ("y", spec.y)):
        if axis.field == "lr" and len(axis.values) > 1:
            return name
    return ""


def rate_ranges(spec: MapSpec, outcomes: Sequence[Outcome]) -> list[RateRange]:
    """Ranges of each arrangement at each value of the other axis whose runs are all done, in the map's order.

    A rate represents the interval halfway to its neighbours on a log scale; a range is the longest unbroken row of
    rates that reach the target. ValueError if no axis is the learning rate.
    """
    side = rate_axis(spec)
    if not side:
        raise ValueError("no axis of this map is the learning rate")
    rates = sorted(spec.x.values if side == "x" else spec.y.values)
    others = spec.y.values if side == "x" else spec.x.values
    runs: dict[tuple[str, float, int], dict[float, Outcome]] = {}
    for run in outcomes:
        rate, other = (run.x, run.y) if side == "x" else (run.y, run.x)
        runs.setdefault((run.arrangement, other, run.seed), {})[rate] = run
    result = []
    for name in spec.arrangements:
        for other in others:
            rows = [runs.get((name, other, seed), {}) for seed in range(spec.seeds)]
            if any(len(row) < len(rates) for row in rows):
                continue
            reached_by_seed = [[row[rate].steps_to_target is not None for rate in rates] for row in rows]
            spans = [_longest_range(rates, reached) for reached in reached_by_seed]
            decades = np.array([span for span, _ in spans])
            result.append(RateRange(name, other, decades, edge=any(edge for _, edge in spans)))
    return result


def sentence(spec: MapSpec, ranges: Sequence[RateRange]) -> str:
    """Whether pre-norm is less sensitive than post-norm on this map, or which arrangement has the widest range.

    Compares only arrangements that are done at all values of the other axis.
    """
    others = len(spec.y.values if rate_axis(spec) == "x" else spec.x.values)
    decades = {
        name: [rate_range.decades.mean() for rate_range in ranges if rate_range.arrangement == name]
        for name in spec.arrangements
    }
    mean = {name: float(np.mean(by_other)) for name, by_other in decades.items() if len(by_other) == others}
    if len(mean) < min(2, len(spec.arrangements)):
        return f"{len(mean)} of {len(spec.arrangements)} arrangements done: nothing to compare yet."
    seeds = count_in_words(spec.seeds, "seed")
    goal = f"a loss of {spec.target:g}"
    if {"pre-norm", "post-norm"} <= set(mean):
        pre, post = mean["pre-norm"], mean["post-norm"]
        claim = "holds here" if pre > post else "does not hold here"
        both = f"with pre-norm {_range_in_words(pre, goal)}, with post-norm {_range_in_words(post, 'it')}"
        return f"“Pre-norm is less sensitive to the learning rate than post-norm” {claim}: {both} ({seeds})."
    best = max(mean, key=mean.__getitem__)
    if len(mean) == 1:
        return f"With {best} {_range_in_words(mean[best], goal)} ({seeds})."
    scope = "" if len(mean) == len(spec.arrangements) else f" of the {len(mean)} that are done"
    if not mean[best]:
        return f"No arrangement{scope} reaches {goal} at any rate ({seeds})."
    return f"The widest range{scope} is that of {best}: {_range_in_words(mean[best], goal)} ({seeds})."


@dataclass(frozen=True)
class WarmupEffect:
    """Final loss of an arrangement at a rate, without a warm-up and with the best one; infinite after a divergence."""

    arrangement: str
    rate: float
    without: float
    best: float


def warmup_effects(spec: MapSpec, outcomes: Sequence[Outcome]) -> list[WarmupEffect]:
    """Effect of a warm-up at every rate; empty for maps of other fields or unfinished ones."""
    if {spec.x.field, spec.y.field} != {"lr", "warmup"} or len(outcomes) < len(cells(spec)) * spec.seeds:
        return []
    by_rate = spec.x.field == "lr"
    rates, warmups = (spec.x.values, spec.y.values) if by_rate else (spec.y.values, spec.x.values)
    if 0 not in warmups or len(warmups) < 2:
        return []
    effects = []
    for name in spec.arrangements:
        losses, _ = grid(spec, outcomes, name, "final loss")  # (y, x)
        by_warmup = np.where(np.isfinite(losses), losses, np.inf)
        if not by_rate:
            by_warmup = by_warmup.T
        is_warm = np.array([value != 0 for value in warmups])
        without = by_warmup[~is_warm][0].tolist()
        best = by_warmup[is_warm].min(0).tolist()
        effects += [WarmupEffect(name, *row) for row in zip(rates, without, best, strict=True)]
    return effects


def needs_warmup(effect: WarmupEffect, target: float) -> bool:
    """Whether the net reaches the target only with a warm-up."""
    return effect.best <= target < effect.without


def warmup_sentence(spec: MapSpec, effects: Sequence[WarmupEffect]) -> str:
    """Names the arrangements for which a warm-up decides whether they reach the target."""
    goal = f"a loss of {spec.target:g}"
    decided = {effect.arrangement for effect in effects if needs_warmup(effect, spec.target)}
    if not decided:
        return f"At no rate does a warm-up decide whether an arrangement reaches {goal}."
    helped = [name for name in spec.arrangements if name in decided]
    others = [name for name in spec.arrangements if name not in decided]
    remark = f"; for {' and '.join(others)} it makes no such difference at any rate" if others else ""
    verb = "reaches" if len(helped) == 1 else "reach"
    return f"A warm-up decides whether {' and '.join(helped)} {verb} {goal}{remark}."


def _range_in_words(decades: float, goal: str) -> str:
    """A range of `decades` in words."""
    if not decades:
        return f"no rate reaches {goal}"
    return f"the rates that reach {goal} span a factor of {factor(decades)} on average"


def _longest_range(rates: Sequence[float], reached: Sequence[bool]) -> tuple[float, bool]:
    """Decades of the longest unbroken row of rates that reached the target, and whether it touches an end."""
    logs = [math.log10(rate) for rate in rates]
    midpoints = [(a + b) / 2 for a, b in pairwise(logs)]
    ends = [logs[0] - (midpoints[0] - logs[0]), *midpoints, logs[-1] + (logs[-1] - midpoints[-1])]
    longest = 0.0
    touches_end = False
    start = None
    for index, is_reached in enumerate([*reached, False]):
        if is_reached and start is None:
            start = index
        if not is_reached and start is not None:
            if ends[index] - ends[start] > longest:
                longest = ends[index] - ends[start]
                touches_end = start == 0 or index == len(rates)
            start = None
    return longest, touches_end
