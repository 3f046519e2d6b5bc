"""The activations and their slopes, and Gaussian averages of both by quadrature. The keys are those of the spec."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import erf, sqrt

import numpy as np

# The standard normal density on a grid that, unlike Gauss-Hermite nodes, is fine enough for the kink of ReLU. The kink
# itself is not on it.
Z = np.linspace(-10, 10, 4000)
WEIGHT = np.exp(-(Z**2) / 2) / np.exp(-(Z**2) / 2).sum()

# SELU's slope above 0 and its floor over that slope: for them N(0, 1) is a fixed point (Klambauer 2017, 1706.02515).
SELU, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772

Curve = Callable[[np.ndarray], np.ndarray]


def _normal_cdf(z: np.ndarray) -> np.ndarray:
    """The standard normal probability of being below z."""
    return 0.5 * (1 + np.vectorize(erf, otypes=[float])(z / sqrt(2)))


def _logistic(z: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(z / 2))


def _bell(z: np.ndarray) -> np.ndarray:
    """The logistic function's slope, without the rounding to 0 of logistic(z) (1 - logistic(z)) far out."""
    small = np.exp(-np.abs(z))
    return np.asarray(small / (1 + small) ** 2)


# Each activation and its slope.
ACTIVATIONS: dict[str, tuple[Curve, Curve]] = {
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0).astype(float)),  # slope 0 at 0, as in PyTorch
    "gelu": (lambda z: z * _normal_cdf(z), lambda z: _normal_cdf(z) + z * np.exp(-(z**2) / 2) / sqrt(2 * np.pi)),
    "silu": (lambda z: z * _logistic(z), lambda z: _logistic(z) * (1 + z * _logistic(-z))),
    "selu": (
        lambda z: np.where(z > 0, SELU * z, SELU * SELU_ALPHA * np.expm1(np.minimum(z, 0))),
        lambda z: np.where(z > 0, SELU, SELU * SELU_ALPHA * np.exp(np.minimum(z, 0))),
    ),
    "tanh": (np.tanh, lambda z: 4 * _bell(2 * z)),
    "sigmoid": (_logistic, _bell),
    "identity": (lambda z: z, np.ones_like),
}


def value(activation: str, z: np.ndarray) -> np.ndarray:
    """φ(z), of any shape."""
    return ACTIVATIONS[activation][0](np.asarray(z, float))


def slope(activation: str, z: np.ndarray) -> np.ndarray:
    """φ'(z), of any shape; 0 at the kink of ReLU, as in PyTorch."""
    return ACTIVATIONS[activation][1](np.asarray(z, float))


def steepest(activation: str) -> tuple[float, float]:
    """The z where φ' is largest, to a thousandth and nearest 0 if there are several, and that φ'."""
    grid = np.arange(-8000, 8001) / 1000
    slopes = slope(activation, grid)
    best = grid[slopes >= slopes.max() - 1e-12]
    return float(best[np.abs(best).argmin()]), float(slopes.max())


@dataclass(frozen=True)
class Moments:
    """E act, Var act and E act'^2 at sqrt(q) z, with z standard normal."""

    mean: float
    variance: float
    slope: float

    @property
    def square(self) -> float:
        """E act^2."""
        return self.variance + self.mean * self.mean  # inf where a power would raise


@lru_cache(maxsize=4096)
def moments(activation: str, q: float = 1.0) -> Moments:
    """Gaussian averages of an activation whose input has variance q."""
    act, slope = ACTIVATIONS[activation]
    if not np.isfinite(q):
        return Moments(np.nan, np.nan, np.nan)
    with np.errstate(over="ignore"):
        values, slopes = act(sqrt(q) * Z), slope(sqrt(q) * Z)
        mean, square, steepness = (float((of * WEIGHT).sum()) for of in (values, values**2, slopes**2))
    return Moments(mean, square - mean * mean, steepness)
