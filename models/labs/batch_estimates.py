"""How far mean and variance of a batch are from those of the table that it is drawn from. numpy, float64.

Legend: T tokens of the table, D features, B tokens in a batch, K batches. Tokens are drawn with replacement.
"""

from dataclasses import dataclass

import numpy as np

from models.labs.normalization import normalised

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
BATCHES = 300


@dataclass(frozen=True)
class Estimates:
    """Of one feature: mean and variance of each batch (K,), and those of the table.

    `by_batch`: the result of one token behind a batch norm, by batch (K,), where the others of its batch are drawn;
    None for a batch of one. `by_layer`: behind a layer norm, whatever the batch.
    """

    means: np.ndarray
    variances: np.ndarray
    mean: float
    variance: float
    by_batch: np.ndarray | None
    by_layer: float


def estimates(x_TD: np.ndarray, row: int, feature: int, size: int, seed: int, *, eps: float) -> Estimates:
    """The statistics of `feature` in BATCHES batches of `size` tokens, and what becomes of token `row` in each."""
    chosen_KB = np.random.default_rng([seed, size]).integers(0, len(x_TD), (BATCHES, size))
    column = x_TD[:, feature]
    means, variances = _statistics(column[chosen_KB])
    by_batch = None
    if size > 1:
        chosen_KB[:, 0] = row
        mean, variance = _statistics(column[chosen_KB])
        scale = np.sqrt(variance + eps)
        by_batch = np.divide(column[row] - mean, scale, out=np.zeros_like(mean), where=scale > 0)
    by_layer = normalised(x_TD[row][None], "layer norm", eps=eps).values[0, feature]
    return Estimates(means, variances, float(column.mean()), float(column.var()), by_batch, float(by_layer))


def errors(x_TD: np.ndarray, feature: int, seed: int) -> np.ndarray:
    """The RMS of the error of a batch's mean, for each of SIZES."""
    column = x_TD[:, feature]
    source = [np.random.default_rng([seed, size]).integers(0, len(column), (BATCHES, size)) for size in SIZES]
    return np.array([np.sqrt(((column[chosen].mean(1) - column.mean()) ** 2).mean()) for chosen in source])


def expected_errors(x_TD: np.ndarray, feature: int) -> np.ndarray:
    """The formula of the same: σ / √B."""
    return np.asarray(x_TD[:, feature].std() / np.sqrt(SIZES))


def _statistics(cells_KB: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance over n of each row; a row of equal numbers has variance 0, without rounding."""
    mean = cells_KB.mean(1)
    return mean, np.where(np.ptp(cells_KB, 1) == 0, 0.0, cells_KB.var(1))
