"""Infers the law by which the signal grows over depth, and the arrangement that explains it.

- A branch that reads a normed copy adds the same mean square at every depth: the signal grows like the square root of
  depth.
- A branch that reads the raw stream adds in proportion to it: the signal grows exponentially.
- Trained branches may all add in one direction: the signal grows in proportion to depth.
- A norm after every sum keeps the size constant.

Sources: Xiong 2020, 2002.04745; He 2016, 1603.05027; Yang 2019, 1902.08129 for nets without skips. Other nets grow like
these over a few sites, so a law is named only if it clearly fits best, and an arrangement only if the gradient agrees.
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

# The spread of sizes is the ratio of the largest to the smallest.
MIN_SITES = 6  # sites needed to infer a law; the first site of the stream does not count
MAX_CONSTANT_SPREAD = 1.2  # sizes with a larger spread are not constant
MIN_TREND = 1.02  # factor from first to last site; a trend also exceeds two standard deviations
MIN_GROWTH_SPREAD = 1.5  # with a smaller spread, all laws look alike
# RMS distance from the best fit, in logarithms, as a share of the logarithm of the spread; above it no law fits.
MAX_FIT_ERROR = 0.045
MIN_MARGIN = 1.3  # factor by which every other law must fit worse
# A power law by its exponent p: the p-th power of the size grows linearly over depth.
POWERS = {"root": 2.0, "linear": 1.0}
UNNAMED_POWERS = (3.0, 4 / 3, 2 / 3, 1 / 2)  # growth like depth to the 1/3, 3/4, 3/2 and 2: rivals without a name
MIN_RELATIVE_POWER = 1e-140  # powers of sizes relative to the largest are raised to this, to stay invertible
LITTLE_SPREAD = 1.25  # if signal and gradient spread less, branches add little, or a norm takes it back
MAX_RATE_DIFFERENCE = 0.25  # share by which the logarithms of two rates may differ
# In a pre-norm net the gradient falls as a power of the signal within these bounds: 1 if a branch's two gains are equal
# (`theory.branch_gains`). Tanh without a norm has 1.8 at 24 blocks, and more with fewer.
MIN_RETURN_POWER = 0.75
MAX_RETURN_POWER = 1.4

ARRANGEMENTS = {
    "pre-norm": "every branch adds about as much as the one before",
    "post-norm": "the stream has the same size after every sum",
    "little": "the branches add little, or a norm after every sum takes back what they add",
    "residual only": "every branch adds in proportion to the stream",
    "ReZero": "every site has the same numbers, so the branches add nothing yet",
    "plain": "the size is a product over the layers",
    "plain + norm": "the size stays, and the gradient is a product over the layers",
}


@dataclass(frozen=True)
class GrowthLaw:
    """A law of growth over depth.

    `kind` is constant, slight (too little growth to infer a law), root, linear, exponential or none (no law fits). It
    is empty if the sizes cannot be fitted. `rate` is the factor from site to site of an exponential law.
    """

    kind: str = ""
    spread: float = math.nan
    rate: float = math.nan

    def predicate(self) -> str:
        """The law in words that follow "the signal"; empty if there is no law."""
        verb = "grows" if self.rate > 1 else "shrinks"
        factor = number(max(self.rate, 1 / self.rate))
        return {
            "constant": "has the same size at every depth",
            "root": "grows, by the best fit, like the square root of depth",
            "linear": "grows, by the best fit, in proportion to depth",
            "exponential": f"{verb}, by the best fit, exponentially, by a factor of {factor} from site to site",
        }.get(self.kind, "")


def law_of(sizes: Sequence[float]) -> GrowthLaw:
    """The law that sizes over depth follow: constant, or the law that fits clearly better than all others."""
    if len(sizes) < MIN_SITES or not all(0 < size < math.inf for size in sizes):
        return GrowthLaw()
    spread = max(sizes) / min(sizes)
    logs = [math.log(size) for size in sizes]
    start, log_rate = fit_line(logs, [1.0] * len(logs))
    exponential_distance = _rms_distance(logs, [start + log_rate * index for index in range(len(logs))])
    trend = abs(log_rate * (len(logs) - 1))
    if spread <= MAX_CONSTANT_SPREAD and trend <= max(2 * exponential_distance, math.log(MIN_TREND)):
        return GrowthLaw("constant", spread)
    if spread < MIN_GROWTH_SPREAD:
        return GrowthLaw("slight", spread)

    distances = {name: _power_law_distance(logs, power) for name, power in POWERS.items()}
    distances["exponential"] = exponential_distance
    kind = min(distances, key=distances.__getitem__)
    # Rivals without a name; if the sizes fall, these are power laws of their reciprocals.
    rising = logs if log_rate > 0 else [-log for log in logs]
    rival_powers = UNNAMED_POWERS if log_rate >= 0 else (*UNNAMED_POWERS, *POWERS.values())
    rival_distances = [_power_law_distance(rising, power) for power in rival_powers]
    if kind == "exponential":
        rival_distances.append(_quadratic_distance(logs if log_rate > 0 else logs[::-1]))
    best, second = sorted([*distances.values(), *rival_distances])[:2]
    fits = distances[kind] <= min(best, MAX_FIT_ERROR * math.log(spread))
    if not fits or second < MIN_MARGIN * best:
        return GrowthLaw("none", spread)
    return GrowthLaw(kind, spread, math.exp(log_rate) if kind == "exponential" else math.nan)


def law_of_stream(sizes: Sequence[float]) -> GrowthLaw:
    """The law of all sites, or if none fits, of every second one: sublayers may alternate large and small sums."""
    law = law_of(sizes)
    if law.kind != "none":
        return law
    every_second = sizes[::-2][::-1]  # includes the last
    alternate = law_of(every_second)
    if alternate.kind in ("", "slight"):
        return law
    if alternate.kind == "exponential":
        return replace(alternate, rate=math.sqrt(alternate.rate))
    return alternate


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
    """Indices of the sites on the longest stream, except sites of an uncommon shape and the first of the others."""
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
    """The arrangement, a key of ARRANGEMENTS, whose signal and gradient those of the first row resemble; else empty.

    The first row is measured before training changes the weights.
    """
    stream = stream_of(recording.sites)
    act = [recording.row("act_rms", 0)[index] for index in stream]
    grad = [recording.row("grad_rms", 0)[index] for index in stream]
    return arrangement_of(act, grad, has_sums=any(recording.sites[index].kind == "sum" for index in stream))


def law_sentence(signal: GrowthLaw, arrangement: str, *, is_later: bool) -> str:
    """A sentence template on the law of a row and on the net's starting arrangement; empty if neither is clear.

    `is_later`: whether the row comes after the first.
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
    """The arrangement that signal and gradient over depth resemble, as in `starting_arrangement`.

    `has_sums`: whether branches are added to a stream.
    """
    signal = law_of_stream(act)
    gradient = law_of_stream(grad[::-1])
    if not signal.kind or not gradient.kind:
        return ""
    if not has_sums:
        return _arrangement_without_sums(signal, gradient)
    if len(set(act)) == len(set(grad)) == 1:
        return "ReZero"
    if max(signal.spread, gradient.spread) < LITTLE_SPREAD:
        return "little"
    is_arrangement = {
        "pre-norm": signal.kind == "root" and MIN_RETURN_POWER <= _return_power(act, grad) <= MAX_RETURN_POWER,
        "post-norm": signal.kind == "constant",
        "residual only": _have_same_rate(signal, gradient) and signal.rate > 1,
    }
    return next((name for name, is_alike in is_arrangement.items() if is_alike), "")


def _arrangement_without_sums(signal: GrowthLaw, gradient: GrowthLaw) -> str:
    if _have_same_rate(signal, gradient):
        return "plain"
    is_normed = (signal.kind, gradient.kind) == ("constant", "exponential")
    return "plain + norm" if is_normed else ""


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
    """RMS distance, in logarithms, of sizes from the power law that fits them best; infinite if they do not grow."""
    largest = max(logs)  # dividing by it keeps the powers within the range of floats
    powers = _clamp([math.exp(power * (log - largest)) for log in logs])
    start, gain = fit_line(powers, [1 / value**2 for value in powers])
    if gain <= 0:
        return math.inf
    fitted = _clamp([start + gain * index for index in range(len(powers))])
    return _rms_distance(logs, [math.log(value) / power + largest for value in fitted])


def _quadratic_distance(logs: Sequence[float]) -> float:
    """RMS distance, in logarithms, of sizes from the best whose square is a + b l + c l^2, with b and c of at least 0.

    So a stream grows to which branches with a mean add: their spreads in squares, their means in proportion. Infinite
    if no such curve is positive.
    """
    weights = [math.exp(2 * (max(logs) - log)) for log in logs]  # of relative errors of the squares
    distances = []
    for powers in ((0, 1, 2), (0, 1), (0, 2)):
        columns = [[weight * index**power for index, weight in enumerate(weights)] for power in powers]
        terms = _least_squares(columns)
        squares = [sum(map(mul, terms, row)) for row in zip(*columns, strict=True)]  # 1 where the fit is exact
        if all(term >= 0 for term in terms[1:]) and min(squares) > 0:
            distances.append(_rms_distance([0.0] * len(logs), [math.log(square) / 2 for square in squares]))
    return min(distances, default=math.inf)


def _least_squares(columns: Sequence[Sequence[float]]) -> list[float]:
    """The factors with which columns come closest to 1, by Gauss's elimination of the normal equations."""
    rows = [[sum(map(mul, left, right)) for right in columns] + [sum(left)] for left in columns]
    for at, pivot in enumerate(rows):
        for row in rows:
            if row is not pivot:
                share = row[at] / pivot[at]
                row[:] = [value - share * other for value, other in zip(row, pivot, strict=True)]
    return [row[-1] / row[at] for at, row in enumerate(rows)]


def _clamp(values: list[float]) -> list[float]:
    return [max(value, MIN_RELATIVE_POWER) for value in values]


def _rms_distance(logs: Sequence[float], fitted: Sequence[float]) -> float:
    return math.dist(logs, fitted) / math.sqrt(len(logs))
