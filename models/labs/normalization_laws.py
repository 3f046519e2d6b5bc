"""Properties of norms: bias of the std, Jacobians, interaction of tokens, outliers, conditioning. numpy, float64."""

from collections.abc import Callable
from dataclasses import dataclass
from math import erf, sqrt

import numpy as np

from models.labs.normalization import normalise

SATURATED = 0.1  # an activation is saturated below this share of its largest slope
MAX_STEPS = 200_000
TINY_EPS = 2.0**-23  # default eps of torch.nn.RMSNorm in float32


def unbiased_std_shortfall(features: int) -> float:
    """Relative shortfall of the output's RMS when the std is unbiased and eps small: 1 - sqrt((d - 1) / d)."""
    return 1 - float(np.sqrt((features - 1) / features))


def jacobian(x_D: np.ndarray, method: str, eps: float = 1e-5) -> np.ndarray:
    """d y / d x of one token, (D, D): (I - 1 1'/D - x^ x^'/D) / scale for layer norm; rms norm lacks 1 1'/D.

    ValueError if the token has no spread and eps is 0.
    """
    x = np.asarray(x_D, float)
    norm = normalise(x[None], method, eps=eps)
    if norm.undefined.any():
        raise ValueError("This token has no spread and eps is 0: the norm has no derivative here.")
    unit, size = norm.values[0], len(x)
    mean_term = np.ones((size, size)) / size if method == "layer norm" else 0.0
    return (np.eye(size) - mean_term - np.outer(unit, unit) / size) / norm.scale[0, 0]


def changes_by_token(x_TD: np.ndarray, method: str, token: int, **settings: object) -> np.ndarray:
    """Largest change of each token's result when the first number of one token grows by 1, (T,)."""
    moved = np.array(x_TD, float)
    moved[token, 0] += 1
    before, after = (normalise(x, method, **settings).values for x in (x_TD, moved))  # type: ignore[arg-type]
    return np.asarray(np.abs(after - before).max(1))


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


def share_of_gaussian_below(z: float) -> float:
    return (1 + erf(z / sqrt(2))) / 2


def z_score_and_shares_below(x_N: np.ndarray, index: int) -> tuple[float, float, float]:
    """z-score (biased variance) of x[index], the share of a Gaussian below it, and the share of x below it."""
    x = np.asarray(x_N, float)
    z = float(normalise(x[:, None], "z-score").values[index, 0])
    return z, share_of_gaussian_below(z), float((x < x[index]).mean())


@dataclass(frozen=True)
class Slopes:
    """Slopes of an activation over a table: largest |input|, saturated share, least slope, RMS slope."""

    largest_input: float
    saturated: float
    least: float
    rms: float


def slopes_at_inputs(
    x_TD: np.ndarray, slope: Callable[[np.ndarray], np.ndarray], *, normed: bool, eps: float = 1e-5
) -> Slopes:
    """Slopes of an activation, steepest at 0, at every number of a table (T, D), or of its layer norm if `normed`."""
    inputs = normalise(x_TD, "layer norm", eps=eps).values if normed else np.asarray(x_TD, float)
    values = slope(inputs)
    steepest = float(slope(np.zeros(1))[0])
    return Slopes(
        float(np.abs(inputs).max()),
        float((values < SATURATED * steepest).mean()),
        float(values.min()),
        float(np.sqrt((values**2).mean())),
    )


def with_spread(x_D: np.ndarray, spread: float) -> np.ndarray:
    """The token rescaled to mean 0 and this biased standard deviation. ValueError if it has no spread."""
    x = np.asarray(x_D, float) - np.mean(x_D)
    if x.std() == 0:
        raise ValueError("All features of this token are equal, so it cannot be stretched.")
    return x * (spread / x.std())


def unequal_features(ratio: float) -> np.ndarray:
    """Four samples of two independent features (4, 2), the second `ratio` times larger: curvatures 1 and ratio²."""
    return np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], float) * (1.0, ratio)


def curvatures(x_ND: np.ndarray) -> np.ndarray:
    """Curvatures of least squares on these features, (D,): eigenvalues of X'X / n, smallest first."""
    return np.linalg.eigvalsh(x_ND.T @ x_ND / len(x_ND))


def square_terms(x_ND: np.ndarray) -> np.ndarray:
    """Means of a², 2ab and b² over the samples of two features (N, 2), (3,): the terms of (a + b)²."""
    a, b = np.asarray(x_ND, float).T
    return np.array([(a * a).mean(), 2 * (a * b).mean(), (b * b).mean()])


def descent_steps(x_ND: np.ndarray, *, target: float = 1e-3, max_steps: int = MAX_STEPS) -> int | None:
    """Steps of gradient descent on least squares with these features, at learning rate 1 / largest curvature.

    Counts from distance 1 in every weight to `target` times the initial distance; None if `max_steps` do not suffice.
    """
    hessian = x_ND.T @ x_ND / len(x_ND)
    distance = np.ones(len(hessian))
    rate, tolerance = 1 / curvatures(x_ND)[-1], target * float(np.linalg.norm(distance))
    for step in range(max_steps + 1):
        if np.sqrt(distance @ distance) <= tolerance:
            return step
        distance = distance - rate * (hessian @ distance)
    return None
