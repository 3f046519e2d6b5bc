"""An outlier in one feature, and the range that it leaves to the other tokens. numpy, float64."""

import numpy as np

from models.labs.normalization import normalise


def with_outlier(x_TD: np.ndarray, token: int, feature: int, ranges: float) -> np.ndarray:
    """Moves a number to `ranges` ranges of its feature above the maximum; a range of 0 counts as 1."""
    moved = np.array(x_TD, float)
    column = moved[:, feature]
    moved[token, feature] = column.max() + ranges * (float(np.ptp(column)) or 1.0)
    return moved


def range_of_others(x_TD: np.ndarray, token: int, feature: int, method: str, eps: float = 1e-5) -> float:
    """Range (maximum - minimum) of all other tokens' normalised numbers in a feature."""
    return float(np.ptp(np.delete(normalise(x_TD, method, eps=eps).values[:, feature], token)))


def share_of_range(x_TD: np.ndarray, token: int, feature: int, method: str) -> float:
    """Range of the others as a share of the normalised feature's range; NaN for a range of 0."""
    whole = float(np.ptp(normalise(x_TD, method).values[:, feature]))
    return range_of_others(x_TD, token, feature, method) / whole if whole else np.nan


def robust_range_of_others(x_TD: np.ndarray, token: int, feature: int) -> float:
    """Range of the others under (x - median) / IQR, with numpy's default quartiles; NaN for an IQR of 0."""
    column = np.asarray(x_TD, float)[:, feature]
    low, high = np.percentile(column, [25, 75])
    return float(np.ptp(np.delete(column, token))) / float(high - low) if high > low else np.nan
