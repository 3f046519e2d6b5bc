"""Common errors in reading charts and in averaging: tensors of different size, means of log-normal numbers."""

import numpy as np

from models import answers
from models.claims import numbers
from models.claims.card import Asked, Card, Computed, Judgement, Values, arxiv, verdict
from models.insight.words import number

TYPICAL = 2.0  # a mean within this factor of the median describes a typical net


def _sizes(values: Values) -> Judgement:
    found = values["torch"]
    tensors = found.tensor
    by_length, by_rms = (
        [name for _, name in sorted(zip(sizes, tensors, strict=True), reverse=True)]
        for sizes in (found.length, found.rms)
    )
    said = (
        f"By length the {by_length[0]} has the largest gradient, by RMS the {by_rms[0]}; the first weight has "
        f"{found.numbers[0]:,} numbers and the last bias {found.numbers[-1]}."
    )
    table = {"tensor": tensors, "numbers": found.numbers, "length": found.length, "RMS": found.rms}
    return Judgement(verdict([by_length == by_rms]), said, table)


def _log_normal(values: Values) -> Judgement:
    gains = np.asarray(values["numbers"]["gains"], float)
    mean, median = float(gains.mean()), float(np.median(gains))
    alive = gains[gains > 0]
    geometric = float(np.exp(np.log(alive).mean()))
    said = (
        f"Over {len(gains)} seeds the mean of the gains is {number(mean)}, their median {number(median)} and their "
        "geometric "
        f"mean {number(geometric)}; {(gains < mean).mean():.0%} of the nets are below the mean."
    )
    table = {
        "average": ["mean", "median", "geometric mean", "largest"],
        "gain": [mean, median, geometric, float(gains.max())],
    }
    return Judgement(verdict([1 / TYPICAL < mean / median < TYPICAL]), said, table)


CARDS = [
    Card(
        "gradient-norms",
        "reading charts",
        "The tensor with the longest gradient has the largest gradient.",
        "A length grows with the root of the number of entries: on one axis plot the RMS. And plot the stream's "
        "gradient: that of a parameter is a sum over tokens, which hides how it changes over depth.",
        arxiv(Understanding_difficulty_of_training="2004.08249"),
        "A small torch net on random labels, one backward pass, every tensor's gradient by length and by RMS.",
        {"torch": Asked(answers.GRADIENT_SIZES)},
        _sizes,
    ),
    Card(
        "log-normal",
        "reading charts",
        "The mean over seeds shows a typical net.",
        "A product of many random factors is log-normal: a few seeds dominate the mean. Use the geometric mean or "
        "the median, and show the range.",
        arxiv(Products_of_many_random_matrices="1812.05994"),
        "The gain of 32 random ReLU layers of width 16 under He's initialisation, 400 seeds.",
        {"numbers": Computed(numbers.products)},
        _log_normal,
    ),
]
