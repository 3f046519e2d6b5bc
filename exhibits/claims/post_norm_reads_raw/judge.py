"""Judges the claim: In post-norm a sublayer reads an un-normalised input."""

import numpy as np

from models.claims.judging import size_lines, verdict
from models.experiment import Judgement, Values, judge
from models.insight.formula import geometric_mean

NORMALISED_TOLERANCE = 0.05  # a stream whose mean square is this close to 1 is normalised


@judge("least most")
def reads_unnormalised_stream(values: Values) -> Judgement:
    """Whether a post-norm net's sublayers, all but the first, read a stream whose mean square is not 1."""
    stream_inputs = {name: geometric_mean(value.mean_square)[1:-1] for name, value in values.items()}
    lowest = {name: np.min(mean_squares) for name, mean_squares in stream_inputs.items()}
    highest = {name: np.max(mean_squares) for name, mean_squares in stream_inputs.items()}
    table = {"net": list(stream_inputs), "least": list(lowest.values()), "most": list(highest.values())}
    raw = float(np.abs(stream_inputs["post-norm"] - 1).max()) > NORMALISED_TOLERANCE
    return Judgement(verdict([raw]), {"least": lowest, "most": highest}, table, size_lines(values))
