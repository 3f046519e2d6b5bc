"""Error of a batch's mean and variance as estimates of those of its table. numpy, float64.

Legend: T tokens of the table, D features, B tokens in a batch, K batches. Tokens are drawn with replacement.
"""

from dataclasses import dataclass

import numpy as np

from models.labs.normalization import normalise

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
BATCHES = 300


@dataclass(frozen=True)
class Estimates:
    """Mean and variance of one feature in each batch (K,), and in the table.

    `batch_norm_results`: one token's result in each batch (K,), among randomly drawn others; None for batches of one.
    `layer_norm_result`: its result by layer norm, which is the same in every batch.
    """

    means: np.ndarray
    variances: np.ndarray
    mean: float
    variance: float
    batch_norm_results: np.ndarray | None
    layer_norm_result: float


def estimates(x_TD: np.ndarray, row: int, feature: int, size: int, seed: int, *, eps: float) -> Estimates:
    """Statistics of `feature` in BATCHES batches of `size` tokens, and the results of token `row`."""
    rows_KB = np.random.default_rng([seed, size]).integers(0, len(x_TD), (BATCHES, size))
    column = x_TD[:, feature]
    means, variances = _statistics(column[rows_KB])
    batch_norm_results = None
    if size > 1:
        rows_KB[:, 0] = row
        mean, variance = _statistics(column[rows_KB])
        scale = np.sqrt(variance + eps)
        batch_norm_results = np.divide(column[row] - mean, scale, out=np.zeros_like(mean), where=scale > 0)
    layer_norm_result = normalise(x_TD[row][None], "layer norm", eps=eps).values[0, feature]
    return Estimates(
        means, variances, float(column.mean()), float(column.var()), batch_norm_results, float(layer_norm_result)
    )


def mean_errors(x_TD: np.ndarray, feature: int, seed: int) -> np.ndarray:
    """RMS error of a batch's mean, for each of SIZES."""
    column = x_TD[:, feature]
    draws = [np.random.default_rng([seed, size]).integers(0, len(column), (BATCHES, size)) for size in SIZES]
    return np.array([np.sqrt(((column[rows].mean(1) - column.mean()) ** 2).mean()) for rows in draws])


def expected_mean_errors(x_TD: np.ndarray, feature: int) -> np.ndarray:
    """Standard error σ / √B of a batch's mean, for each of SIZES."""
    return np.asarray(x_TD[:, feature].std() / np.sqrt(SIZES))


def _statistics(cells_KB: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and biased variance of each row; a row of equal numbers has variance exactly 0."""
    mean = cells_KB.mean(1)
    return mean, np.where(np.ptp(cells_KB, 1) == 0, 0.0, cells_KB.var(1))
