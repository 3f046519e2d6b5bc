"""z-scores, and shares of numbers below them. numpy, float64."""

from math import erf, sqrt

import numpy as np

from models.labs.normalization import normalise


def share_of_gaussian_below(z: float) -> float:
    return (1 + erf(z / sqrt(2))) / 2


def z_score_and_shares_below(x_N: np.ndarray, index: int) -> tuple[float, float, float]:
    """z-score (biased variance) of x[index], the share of a Gaussian below it, and the share of x below it."""
    x = np.asarray(x_N, float)
    z = float(normalise(x[:, None], "z-score").values[index, 0])
    return z, share_of_gaussian_below(z), float((x < x[index]).mean())
