"""Activations, their slopes, and Gaussian averages of both by quadrature. Keys are the spec's names of activations."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import erf, sqrt

import numpy as np

# A grid of the standard normal density. Unlike Gauss-Hermite nodes it resolves the kink of ReLU, which lies between two
# of its points.
Z = np.linspace(-10, 10, 4000)
WEIGHT = np.exp(-(Z**2) / 2) / np.exp(-(Z**2) / 2).sum()

# SELU's slope above 0, and its floor divided by that slope: N(0, 1) is then a fixed point (Klambauer 2017, 1706.02515).
SELU, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772

Curve = Callable[[np.ndarray], np.ndarray]


def _normal_cdf(z: np.ndarray) -> np.ndarray:
    """Standard normal cumulative distribution."""
    return 0.5 * (1 + np.vectorize(erf, otypes=[float])(z / sqrt(2)))


def _logistic(z: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(z / 2))


def _bell(z: np.ndarray) -> np.ndarray:
    """Slope of the logistic function; unlike logistic(z) (1 - logistic(z)) it does not round to 0 for large z."""
    decay = np.exp(-np.abs(z))
    return np.asarray(decay / (1 + decay) ** 2)


# Each activation with its slope.
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


def steepest_point(activation: str) -> tuple[float, float]:
    """The z with the largest slope, to a thousandth, and that slope; of several maxima, the one nearest 0."""
    grid = np.arange(-8000, 8001) / 1000
    slopes = slope(activation, grid)
    maxima = grid[slopes >= slopes.max() - 1e-12]
    return float(maxima[np.abs(maxima).argmin()]), float(slopes.max())


@dataclass(frozen=True)
class Moments:
    """E φ, Var φ and E φ'^2 at sqrt(q) z, with z standard normal."""

    mean: float
    variance: float
    slope: float

    @property
    def square(self) -> float:
        """E φ^2."""
        return self.variance + self.mean * self.mean  # inf where a power would raise


@lru_cache(maxsize=4096)
def moments(activation: str, q: float = 1.0) -> Moments:
    """Gaussian averages of an activation whose input has variance q."""
    act, slope = ACTIVATIONS[activation]
    if not np.isfinite(q):
        return Moments(np.nan, np.nan, np.nan)
    with np.errstate(over="ignore"):
        values, slopes = act(sqrt(q) * Z), slope(sqrt(q) * Z)
        mean, mean_square, slope_square = (float((x * WEIGHT).sum()) for x in (values, values**2, slopes**2))
    return Moments(mean, mean_square - mean * mean, slope_square)
