"""Judges the claim: The variance of pre-norm grows exponentially."""

import numpy as np

from models.claims.judging import FAILS, HOLDS, PARTLY, size_lines
from models.experiment import Judgement, Values, judge
from models.insight.formula import geometric_mean

MAX_LINEAR_POWER = 1.3  # a power of depth up to this one counts as linear


@judge("square blocks power times exponential")
def power_of_depth(values: Values) -> Judgement:
    """Power of depth by which the stream's mean square grows, fitted on the second half."""
    by_block = geometric_mean(values["pre-norm"].mean_square)
    last_block = len(by_block) - 1
    half_block = len(by_block) // 2
    blocks = [0, half_block, last_block]
    mean_squares = [float(by_block[block]) for block in blocks]
    start, half, end = mean_squares
    power = float(np.log((end - start) / (half - start)) / np.log(last_block / half_block))
    numbers = {
        "square": mean_squares,
        "blocks": blocks,
        "power": power,
        "times": half / start,
        "exponential": half**2 / start,
    }
    lines = size_lines({"geometric mean of six seeds": values["pre-norm"]})
    if power > 2 * MAX_LINEAR_POWER:
        answer = HOLDS
    elif power > MAX_LINEAR_POWER:
        answer = PARTLY
    else:
        answer = FAILS
    return Judgement(answer, numbers, {"blocks": blocks, "mean square": mean_squares}, lines)
