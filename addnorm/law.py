"""The law by which the signal grows over depth, and the arrangement known to grow so.

A branch that reads a normed copy adds the same mean square at every depth, so the signal grows like the square root of
depth; one that reads the raw stream adds in proportion to it, which makes it grow exponentially; branches that all add
in one direction, as training may teach them, make it grow in proportion to depth; a norm after every sum keeps its size
(Xiong 2020, 2002.04745; He 2016, 1603.05027; Yang 2019, 1902.08129 for nets without skips). Other nets grow like these
over a few sites, so a law is named where it fits clearly best, and an arrangement where the gradient agrees.
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
FEWEST = 6  # sites needed to tell a law, without the first
CONSTANT_SPREAD = 1.2  # largest spread that counts as constant, if there is
TREND = 1.02  # no trend over depth beyond this factor or beyond two standard deviations
CLEAR = 1.5  # smallest spread by which a law can be told
POOR = 0.045  # RMS distance from a fit in logarithms, over the logarithm of the spread: above it the fit is poor
APART = 1.3  # factor by which every other law must fit worse
POWERS = {"root": 2.0, "linear": 1.0}  # the power of the size that gains as much at every site
BETWEEN = (3.0, 4 / 3, 2 / 3, 1 / 2)  # the same of laws without a name here: depth to the 1/3, 3/4, 3/2 and 2
SMALLEST = 1e-140  # smallest power of a size, relative to the largest, that is told from zero
LITTLE = 1.25  # spread of signal and gradient below which the branches add little, or a norm takes it back
MAX_RATE_DIFFERENCE = 0.25  # share by which the logarithms of two rates may differ
# The power of the signal by which its gradient falls with depth where every branch adds as much as the one before: 1
# if the branch's two gains are equal (`theory.branch_gains`). Tanh without a norm has 1.8 at 24 blocks, and more below.
RETURNS = (0.75, 1.4)

LIKE = {
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
    """`kind`: constant, slight, root, linear, exponential or none; empty without a fit. `rate`: from site to site."""

    kind: str = ""
    spread: float = math.nan
    rate: float = math.nan

    def sentence(self) -> str:
        """What the signal does, as a predicate; empty where no law can be told."""
        factor = max(self.rate, 1 / self.rate)
        return {
            "constant": "has the same size at every depth",
            "root": "grows, by the best fit, like the square root of depth",
            "linear": "grows, by the best fit, in proportion to depth",
            "exponential": f"{'grows' if self.rate > 1 else 'shrinks'}, by the best fit, exponentially, by a factor of "
            f"{number(factor)} from site to site",
        }.get(self.kind, "")


def law_of(values: Sequence[float]) -> GrowthLaw:
    """The law that sizes over depth follow."""
    if len(values) < FEWEST or not all(0 < value < math.inf for value in values):
        return GrowthLaw()
    most = max(values)
    spread = most / min(values)
    logs = [math.log(value) for value in values]
    start, rate = straight(logs, [1.0] * len(logs))
    exponential = _distance(logs, [start + rate * at for at in range(len(logs))])
    if spread <= CONSTANT_SPREAD and abs(rate * (len(logs) - 1)) <= max(2 * exponential, math.log(TREND)):
        return GrowthLaw("constant", spread)
    if spread < CLEAR:
        return GrowthLaw("slight", spread)
    rising = logs if rate > 0 else [-log for log in logs]
    fits = {name: _grown(logs, power) for name, power in POWERS.items()} | {"exponential": exponential}
    others = [_grown(rising, power) for power in (*BETWEEN, *(POWERS.values() if rate < 0 else ()))]
    kind = min(fits, key=fits.__getitem__)
    best, second = sorted([*fits.values(), *others])[:2]
    if fits[kind] > min(best, POOR * math.log(spread)) or second < APART * best:
        return GrowthLaw("none", spread)
    return GrowthLaw(kind, spread, math.exp(rate) if kind == "exponential" else math.nan)


def law_of_stream(values: Sequence[float]) -> GrowthLaw:
    """The law of all sites, else of every second one: alternating sublayers may add much and little by turns."""
    law = law_of(values)
    if law.kind != "none" or (second := law_of(values[::-2][::-1])).kind in ("", "slight"):
        return law
    return replace(second, rate=math.sqrt(second.rate)) if second.kind == "exponential" else second


def straight(y: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """Start and slope of the weighted least squares line through y at 0, 1, 2, ..."""
    whole = sum(weights)
    mx, my = sum(map(mul, weights, range(len(y)))) / whole, sum(map(mul, weights, y)) / whole
    across = [at - mx for at in range(len(y))]
    weighted = list(map(mul, weights, across))
    slope = sum(map(mul, weighted, [value - my for value in y])) / sum(map(mul, weighted, across))
    return my - slope * mx, slope


def stream_of(sites: Sequence[SiteInfo]) -> list[int]:
    """The sites of the longest stream, without its first: those of the commonest shape between two starts."""
    streams: list[list[int]] = [[]]
    for at, site in enumerate(sites):
        if site.kind == "start":
            streams.append([])
        streams[-1].append(at)
    longest = max(streams, key=len)
    shapes = Counter(sites[at].shape for at in longest)
    common = max(shapes, key=shapes.__getitem__, default=())
    return [at for at in longest if sites[at].shape == common][1:]


def likeness(recording: Recording) -> str:
    """The arrangement that signal and gradient of the first row, before training changes the weights, are both like;
    "little" where neither changes much over depth, empty where they are like none.
    """
    places = stream_of(recording.sites)
    act, grad = ([recording.row(name, 0)[place] for place in places] for name in ("act_rms", "grad_rms"))
    return alike(act, grad, summed=any(recording.sites[place].kind == "sum" for place in places))


def law_at(recording: Recording, at: int) -> GrowthLaw:
    """The law that the signal over depth follows in one row."""
    act = recording.row("act_rms", at)
    return law_of_stream([act[place] for place in stream_of(recording.sites)])


def law_in_words(signal: GrowthLaw, like: str, *, later: bool) -> str:
    """The law of a row, and the arrangement that the net started like, in sentences; empty where neither is clear.

    `later`: whether it is not the first row. The step is to be filled in.
    """
    sentences = [f"At step {STEP} the signal {law}."] if (law := signal.sentence()) else []
    starts = "started" if later else "starts"
    if like == "little":
        sentences.append(f"Your net {starts} with a signal and a gradient that hardly change: {LIKE[like]}.")
    elif like:
        sentences.append(f"Your net {starts} like “{like}”: {LIKE[like]}.")
    return " ".join(sentences)


def alike(act: Sequence[float], grad: Sequence[float], *, summed: bool) -> str:
    """The arrangement of sizes over depth, as in `likeness`; `summed`: branches are added to a stream."""
    signal, gradient = law_of_stream(act), law_of_stream(grad[::-1])
    if not (signal.kind and gradient.kind):
        return ""
    products = _same_product(signal, gradient)
    if not summed:
        normed = (signal.kind, gradient.kind) == ("constant", "exponential")
        return "plain" if products else "plain + norm" if normed else ""
    if len({*act}) == len({*grad}) == 1:
        return "ReZero"
    if max(signal.spread, gradient.spread) < LITTLE:
        return "little"
    as_much = signal.kind == "root" and RETURNS[0] <= _power(act, grad) <= RETURNS[1]
    fits = {"post-norm": signal.kind == "constant", "residual only": products and signal.rate > 1, "pre-norm": as_much}
    return next((name for name, does in fits.items() if does), "")


def _same_product(signal: GrowthLaw, gradient: GrowthLaw) -> bool:
    """Whether signal and gradient are products over the layers of the same factors."""
    if not signal.kind == gradient.kind == "exponential":
        return False
    rate = math.log(signal.rate)
    return abs(math.log(gradient.rate) - rate) < MAX_RATE_DIFFERENCE * abs(rate)


def _power(act: Sequence[float], grad: Sequence[float]) -> float:
    """The power of the signal by which its gradient falls with depth: least squares in logarithms."""
    sizes, falls = [math.log(value) for value in act], [-math.log(value) for value in grad]
    mean = sum(sizes) / len(sizes)
    return sum((size - mean) * fall for size, fall in zip(sizes, falls, strict=True)) / sum(
        (size - mean) ** 2 for size in sizes
    )


def _grown(logs: Sequence[float], power: float) -> float:
    """How far sizes, given their logarithms, are from a law by which this power of them gains the same at every site;
    infinite if none gains.
    """
    most = max(logs)  # the powers are of a share of it, which keeps them within the range of floats
    powers = _at_least(SMALLEST, [math.exp(power * (log - most)) for log in logs])
    start, gain = straight(powers, [1 / one**2 for one in powers])
    if gain <= 0:
        return math.inf
    fitted = _at_least(SMALLEST, [start + gain * at for at in range(len(powers))])
    return _distance(logs, [math.log(one) / power + most for one in fitted])


def _at_least(least: float, values: list[float]) -> list[float]:
    return values if min(values) >= least else [max(value, least) for value in values]


def _distance(logs: Sequence[float], fitted: Sequence[float]) -> float:
    return math.dist(logs, fitted) / math.sqrt(len(logs))
