"""The law by which the signal grows over depth, and the arrangement known to grow so.

A branch that reads a normed copy adds the same mean square at every depth, so the signal grows like the square root of
depth; one that reads the raw stream adds in proportion to it, which makes it grow exponentially; branches that all add
in one direction, as training may teach them, make it grow in proportion to depth; a norm after every sum keeps its size
(Xiong 2020, 2002.04745; He 2016, 1603.05027; Yang 2019, 1902.08129 for nets without skips). Other nets grow like these
over a few sites, so a law is named only if it fits clearly best, and an arrangement only if the gradient agrees.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import TYPE_CHECKING

from addnorm.words import STEP, number

if TYPE_CHECKING:
    from addnorm.recording import Recording, SiteInfo

# "Spread" is the largest size over the smallest.
MIN_SITES = 6  # needed to tell a law, without the first
CONSTANT_SPREAD = 1.2  # largest spread that counts as constant, without a trend
TREND = 1.02  # factor over depth; a larger one is a trend if it also exceeds two standard deviations
CLEAR_SPREAD = 1.5  # smallest spread by which a law can be told
POOR_FIT = 0.045  # RMS distance from a fit in logarithms, over the logarithm of the spread; above it the fit is poor
APART = 1.3  # factor by which every other law must fit worse
# A law is the power of the size that gains the same at every site.
POWERS = {"root": 2.0, "linear": 1.0}
UNNAMED_POWERS = (3.0, 4 / 3, 2 / 3, 1 / 2)  # of laws without a name here: depth to the 1/3, 3/4, 3/2 and 2
SMALLEST = 1e-140  # power of a size, relative to the largest, below which it counts as this
LITTLE_SPREAD = 1.25  # of signal and gradient, below which the branches add little, or a norm takes it back
MAX_RATE_DIFFERENCE = 0.25  # share by which the logarithms of two rates may differ
# The gradient falls as this power of the signal if every branch adds as much as the one before: 1 if the branch's two
# gains are equal (`theory.branch_gains`). Tanh without a norm has 1.8 at 24 blocks, and more below.
RETURN_POWERS = (0.75, 1.4)

ARRANGEMENTS = {
    "pre-norm": "every branch adds about as much as the one before",
    "post-norm": "the stream has the same size after every sum",
    "little": "the branches add little, or a norm after every sum takes back what they add",
    "residual only": "every branch adds in proportion to the stream",
    "ReZero": "site by site the same numbers, so the branches add nothing yet",
    "plain": "the size is a product over the layers",
    "plain + norm": "the size stays, and the gradient is a product over the layers",
}


@dataclass(frozen=True)
class GrowthLaw:
    """A law over depth. `kind`: constant, slight, root, linear, exponential or none; empty without a fit.

    `rate`: factor from site to site of an exponential law.
    """

    kind: str = ""
    spread: float = math.nan
    rate: float = math.nan

    def predicate(self) -> str:
        """The law as a predicate of the signal; empty if none can be told."""
        factor = max(self.rate, 1 / self.rate)
        return {
            "constant": "has the same size at every depth",
            "root": "grows, by the best fit, like the square root of depth",
            "linear": "grows, by the best fit, in proportion to depth",
            "exponential": f"{'grows' if self.rate > 1 else 'shrinks'}, by the best fit, exponentially, by a factor of "
            f"{number(factor)} from site to site",
        }.get(self.kind, "")


def law_of(sizes: Sequence[float]) -> GrowthLaw:
    """The law that sizes over depth follow."""
    if len(sizes) < MIN_SITES or not all(0 < size < math.inf for size in sizes):
        return GrowthLaw()
    spread = max(sizes) / min(sizes)
    logs = [math.log(size) for size in sizes]
    start, rate = fit_line(logs, [1.0] * len(logs))
    exponential = _rms_distance(logs, [start + rate * index for index in range(len(logs))])
    trend = abs(rate * (len(logs) - 1))
    if spread <= CONSTANT_SPREAD and trend <= max(2 * exponential, math.log(TREND)):
        return GrowthLaw("constant", spread)
    if spread < CLEAR_SPREAD:
        return GrowthLaw("slight", spread)
    distances = {name: _power_law_distance(logs, power) for name, power in POWERS.items()}
    distances["exponential"] = exponential
    rising = logs if rate > 0 else [-log for log in logs]
    unnamed_powers = UNNAMED_POWERS if rate >= 0 else (*UNNAMED_POWERS, *POWERS.values())
    unnamed = [_power_law_distance(rising, power) for power in unnamed_powers]
    kind = min(distances, key=distances.__getitem__)
    best, second = sorted([*distances.values(), *unnamed])[:2]
    if distances[kind] > min(best, POOR_FIT * math.log(spread)) or second < APART * best:
        return GrowthLaw("none", spread)
    return GrowthLaw(kind, spread, math.exp(rate) if kind == "exponential" else math.nan)


def law_of_stream(sizes: Sequence[float]) -> GrowthLaw:
    """The law of all sites, else of every second one, because sublayers may alternate between large and small sums."""
    law = law_of(sizes)
    if law.kind != "none":
        return law
    alternate = law_of(sizes[::-2][::-1])
    if alternate.kind in ("", "slight"):
        return law
    return replace(alternate, rate=math.sqrt(alternate.rate)) if alternate.kind == "exponential" else alternate


def fit_line(y: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """Start and slope of the weighted least squares line through y at 0, 1, 2, ..."""
    total = sum(weights)
    mean_x = sum(map(mul, weights, range(len(y)))) / total
    mean_y = sum(map(mul, weights, y)) / total
    dx = [x - mean_x for x in range(len(y))]
    weighted_dx = list(map(mul, weights, dx))
    slope = sum(map(mul, weighted_dx, [value - mean_y for value in y])) / sum(map(mul, weighted_dx, dx))
    return mean_y - slope * mean_x, slope


def stream_of(sites: Sequence[SiteInfo]) -> list[int]:
    """Indices of the sites in the longest stream that have its commonest shape, without the first."""
    streams: list[list[int]] = [[]]
    for index, site in enumerate(sites):
        if site.kind == "start":
            streams.append([])
        streams[-1].append(index)
    longest = max(streams, key=len)
    shapes = Counter(sites[index].shape for index in longest)
    common = max(shapes, key=shapes.__getitem__, default=())
    return [index for index in longest if sites[index].shape == common][1:]


def starting_arrangement(recording: Recording) -> str:
    """The arrangement whose signal and gradient the first row resembles, before training changes the weights.

    "little" if neither changes much over depth, empty if it resembles none.
    """
    stream = stream_of(recording.sites)
    act = [recording.row("act_rms", 0)[index] for index in stream]
    grad = [recording.row("grad_rms", 0)[index] for index in stream]
    return arrangement_of(act, grad, has_sums=any(recording.sites[index].kind == "sum" for index in stream))


def law_at(recording: Recording, row: int) -> GrowthLaw:
    act = recording.row("act_rms", row)
    return law_of_stream([act[index] for index in stream_of(recording.sites)])


def law_sentence(signal: GrowthLaw, arrangement: str, *, is_later: bool) -> str:
    """A template on the law of a row and the arrangement that the net started like; empty if neither is clear.

    `is_later`: the row is not the first.
    """
    sentences = []
    if predicate := signal.predicate():
        sentences.append(f"At step {STEP} the signal {predicate}.")
    starts = "started" if is_later else "starts"
    if arrangement == "little":
        sentences.append(
            f"Your net {starts} with a signal and a gradient that hardly change: {ARRANGEMENTS['little']}."
        )
    elif arrangement:
        sentences.append(f"Your net {starts} like “{arrangement}”: {ARRANGEMENTS[arrangement]}.")
    return " ".join(sentences)


def arrangement_of(act: Sequence[float], grad: Sequence[float], *, has_sums: bool) -> str:
    """The arrangement by signal and gradient over depth, as in `starting_arrangement`.

    `has_sums`: branches are added to a stream.
    """
    signal, gradient = law_of_stream(act), law_of_stream(grad[::-1])
    if not (signal.kind and gradient.kind):
        return ""
    is_product = _have_same_rate(signal, gradient)
    if not has_sums:
        is_normed = (signal.kind, gradient.kind) == ("constant", "exponential")
        return "plain" if is_product else "plain + norm" if is_normed else ""
    if len({*act}) == len({*grad}) == 1:
        return "ReZero"
    if max(signal.spread, gradient.spread) < LITTLE_SPREAD:
        return "little"
    low, high = RETURN_POWERS
    if signal.kind == "root":
        return "pre-norm" if low <= _return_power(act, grad) <= high else ""
    return "post-norm" if signal.kind == "constant" else "residual only" if is_product and signal.rate > 1 else ""


def _have_same_rate(signal: GrowthLaw, gradient: GrowthLaw) -> bool:
    """Whether signal and gradient are products of the same factors over the layers."""
    if not signal.kind == gradient.kind == "exponential":
        return False
    rate = math.log(signal.rate)
    return abs(math.log(gradient.rate) - rate) < MAX_RATE_DIFFERENCE * abs(rate)


def _return_power(act: Sequence[float], grad: Sequence[float]) -> float:
    """The power of the signal with which its gradient falls over depth, by least squares in logarithms."""
    sizes = [math.log(value) for value in act]
    falls = [-math.log(value) for value in grad]
    mean = sum(sizes) / len(sizes)
    covariance = sum((size - mean) * fall for size, fall in zip(sizes, falls, strict=True))
    return covariance / sum((size - mean) ** 2 for size in sizes)


def _power_law_distance(logs: Sequence[float], power: float) -> float:
    """The distance of sizes, given their logarithms, from a law by which their power gains the same at every site.

    Infinite if it gains nothing.
    """
    largest = max(logs)  # divided out, so that the powers stay within the range of floats
    powers = _clamp([math.exp(power * (log - largest)) for log in logs])
    start, gain = fit_line(powers, [1 / value**2 for value in powers])
    if gain <= 0:
        return math.inf
    fitted = _clamp([start + gain * index for index in range(len(powers))])
    return _rms_distance(logs, [math.log(value) / power + largest for value in fitted])


def _clamp(values: list[float]) -> list[float]:
    return values if min(values) >= SMALLEST else [max(value, SMALLEST) for value in values]


def _rms_distance(logs: Sequence[float], fitted: Sequence[float]) -> float:
    return math.dist(logs, fitted) / math.sqrt(len(logs))
