"""The law by which the stream grows over depth, and the arrangement known to grow so.

A branch that reads a normed copy adds the same mean square at every depth, so the stream grows like the square root of
depth; one that reads the raw stream adds in proportion to it, which makes it grow exponentially; branches that all add
in one direction, as training may teach them, make it grow in proportion to depth; a norm after every sum keeps its size
(Xiong 2020, 2002.04745; He 2016, 1603.05027; Yang 2019, 1902.08129 for nets without skips).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from addnorm.read import Recording, SiteInfo

# "Spread" is the largest size over the smallest.
FEWEST = 4  # sites needed to tell a law, without the first
SAME = 1.2  # largest spread that counts as constant, if there is
TREND = 1.02  # no trend over depth beyond this factor or beyond two standard deviations
CLEAR = 1.5  # smallest spread by which a law can be told
STILL = 1.01  # largest spread of the gradient of a stream to which nothing is added
POOR = 0.045  # RMS distance from a fit in logarithms, over the logarithm of the spread: above it the fit is poor
SMALLEST = 1e-140  # smallest power of a size, relative to the largest, that is told from zero
NEAR = 0.25  # share by which the logarithms of two rates may differ
APART = 1.25  # factor by which other laws must fit worse
SURE = 2.0  # factor by which the square root must fit worse than a straight line: narrow nets scatter

LIKE = {
    "pre-norm": "every branch adds about as much as the one before",
    "post-norm": "the stream has the same size after every sum",
    "residual only": "every branch adds in proportion to the stream",
    "ReZero": "the branches add almost nothing yet",
    "plain": "the size is a product over the layers",
    "plain + norm": "the size stays, and the gradient is a product over the layers",
}


@dataclass(frozen=True)
class Law:
    """`kind`: constant, slight, root, linear, exponential or none; empty without a fit. `rate`: from site to site."""

    kind: str = ""
    spread: float = math.nan
    rate: float = math.nan

    def sentence(self) -> str:
        """What the stream does, as a predicate."""
        factor = max(self.rate, 1 / self.rate)
        return {
            "constant": "has the same size at every depth",
            "slight": f"changes by a factor of {self.spread:.3g} only over depth, too little to tell a law by",
            "root": "grows like the square root of depth",
            "linear": "grows in proportion to depth",
            "exponential": f"{'grows' if self.rate > 1 else 'shrinks'} exponentially, by a factor of {factor:.3g} "
            "from site to site",
            "none": (
                "follows no clear law over depth: not constant, not like a square root, not in proportion, not "
                "exponential"
            ),
        }[self.kind]


def law_of(values: Sequence[float]) -> Law:
    """The law that sizes over depth follow."""
    if len(values) < FEWEST or not all(0 < value < math.inf for value in values):
        return Law()
    most = max(values)
    spread = most / min(values)
    logs = [math.log(value) for value in values]
    start, rate = straight(logs, [1.0] * len(logs))
    exponential = _distance(logs, [start + rate * at for at in range(len(logs))])
    if spread <= SAME and abs(rate * (len(logs) - 1)) <= max(2 * exponential, math.log(TREND)):
        return Law("constant", spread)
    if spread < CLEAR:
        return Law("slight", spread)
    root, linear, poor = _grown(values, 2), _grown(values, 1), POOR * math.log(spread)
    clear = {
        "root": root <= min(poor, SURE * linear, exponential / APART),
        "linear": linear <= min(poor, root / SURE, exponential / APART),
        "exponential": exponential <= min(poor, root / APART, linear / APART),
    }
    kind = next((name for name, fits in clear.items() if fits), "none")
    return Law(kind, spread, math.exp(rate) if kind == "exponential" else math.nan)


def law_of_stream(values: Sequence[float]) -> Law:
    """The law of all sites, else of every second one: alternating sublayers may add much and little by turns."""
    law, second = law_of(values), law_of(values[::-2][::-1])
    if law.kind != "none" or second.kind in ("", "slight"):
        return law
    return replace(second, rate=math.sqrt(second.rate)) if second.kind == "exponential" else second


def straight(y: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """Start and slope of the weighted least squares line through y at 0, 1, 2, ..."""
    whole = sum(weights)
    mx = sum(weight * at for at, weight in enumerate(weights)) / whole
    my = sum(weight * value for weight, value in zip(weights, y, strict=True)) / whole
    rise = sum(weight * (at - mx) * (value - my) for at, (weight, value) in enumerate(zip(weights, y, strict=True)))
    slope = rise / sum(weight * (at - mx) ** 2 for at, weight in enumerate(weights))
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
    """The arrangement that grows like the first row, before training changes the weights; empty where none does."""
    stream, gradient = laws(recording, 0)
    places = stream_of(recording.sites)
    return _alike(stream, gradient, summed=any(recording.sites[place].kind == "sum" for place in places))


def laws(recording: Recording, at: int) -> tuple[Law, Law]:
    """The laws that the stream over depth and its gradient on the way back follow in one row."""
    places = stream_of(recording.sites)
    act, grad = ([recording.row(name, at)[place] for place in places] for name in ("act", "grad"))
    return law_of_stream(act), law_of_stream(grad[::-1])


def law_in_words(recording: Recording, at: int) -> str:
    """The law of a row, and the arrangement that the net started like, in sentences."""
    stream, like = laws(recording, at)[0], likeness(recording)
    said = [f"At step {recording.steps[at]} the stream {stream.sentence()}."] if stream.kind else []
    if like:
        said.append(f"Your net {'started' if at else 'starts'} like “{like}”: {LIKE[like]}.")
    return " ".join(said)


def _alike(stream: Law, gradient: Law, *, summed: bool) -> str:
    if stream.kind == "exponential":  # a product over the layers, whose gradient is a product of the same factors
        rate = math.log(stream.rate)
        if gradient.kind != "exponential" or abs(math.log(gradient.rate) - rate) >= NEAR * abs(rate):
            return ""
        return "plain" if not summed else "residual only" if rate > 0 else ""
    if summed:
        still = gradient.kind != "" and gradient.spread < STILL
        return {"root": "pre-norm", "constant": "ReZero" if still else "post-norm"}.get(stream.kind, "")
    return "plain + norm" if (stream.kind, gradient.kind) == ("constant", "exponential") else ""


def _grown(values: Sequence[float], power: int) -> float:
    """How far sizes are from a law by which this power of them gains the same at every site; infinite if none gains."""
    most = max(values)  # dividing by it keeps powers within the range of floats
    powers = [max((value / most) ** power, SMALLEST) for value in values]
    start, gain = straight(powers, [1 / one**2 for one in powers])
    if gain <= 0:
        return math.inf
    fitted = [math.log(max(start + gain * at, SMALLEST)) / power + math.log(most) for at in range(len(powers))]
    return _distance([math.log(value) for value in values], fitted)


def _distance(logs: Sequence[float], fitted: Sequence[float]) -> float:
    return math.sqrt(sum((one - log) ** 2 for one, log in zip(fitted, logs, strict=True)) / len(logs))
