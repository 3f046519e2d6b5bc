"""Judges the claim: The mean over seeds shows a typical net."""

import numpy as np

from models.claims.judging import verdict
from models.experiment import Judgement, Values, judge

TYPICAL_FACTOR = 2.0  # a mean within this factor of the median describes a typical net


@judge("seeds mean median geometric below")
def log_normal(values: Values) -> Judgement:
    """Whether the mean of many seeds' gains is close to their median."""
    gains = np.asarray(values["numbers"]["gains"], float)
    mean, median = float(gains.mean()), float(np.median(gains))
    geometric, times = float(np.exp(np.log(gains[gains > 0]).mean())), mean / median
    numbers = {
        "seeds": len(gains),
        "mean": mean,
        "median": median,
        "geometric": geometric,
        "below": (gains < mean).mean(),
        "times": times,
    }
    averages = ["mean", "median", "geometric mean", "largest"]
    table = {"average": averages, "gain": [mean, median, geometric, float(gains.max())]}
    return Judgement(verdict([1 / TYPICAL_FACTOR < times < TYPICAL_FACTOR]), numbers, table)
