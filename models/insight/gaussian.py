"""Averages of activation functions over Gaussian numbers, by quadrature."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

# The standard normal weight on a grid that is fine enough for the kink of ReLU, which Gauss-Hermite nodes are not; 0, where
# ReLU has no slope, is not on it.
Z = np.linspace(-10, 10, 4000)
WEIGHT = np.exp(-(Z**2) / 2) / np.exp(-(Z**2) / 2).sum()

Curve = Callable[[np.ndarray], np.ndarray]


GRID = np.linspace(-12, 12, 24001)
DENSITY = np.exp(-(GRID**2) / 2) / sqrt(2 * np.pi)
BELOW = np.concatenate([[0.0], np.cumsum((DENSITY[1:] + DENSITY[:-1]) / 2) * (GRID[1] - GRID[0])])


def _normal_cdf(z: np.ndarray) -> np.ndarray:
    """The Gaussian chance of being below z."""
    return np.interp(z, GRID, BELOW, left=0.0, right=1.0)


def _logistic(z: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(z / 2))


# Each activation and its slope.
ACTIVATIONS: dict[str, tuple[Curve, Curve]] = {
    "relu": (lambda z: np.maximum(z, 0), lambda z: np.heaviside(z, 0.5)),
    "gelu": (lambda z: z * _normal_cdf(z), lambda z: _normal_cdf(z) + z * np.exp(-(z**2) / 2) / sqrt(2 * np.pi)),
    "silu": (lambda z: z * _logistic(z), lambda z: _logistic(z) * (1 + z * (1 - _logistic(z)))),
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "sigmoid": (_logistic, lambda z: _logistic(z) * (1 - _logistic(z))),
    "identity": (lambda z: z, np.ones_like),
}


@dataclass(frozen=True)
class Moments:
    """E act, Var act and E act'^2 of act(sqrt(q) z), z standard normal."""

    mean: float
    variance: float
    slope: float

    @property
    def square(self) -> float:
        """E act^2."""
        return self.variance + self.mean**2


@lru_cache(maxsize=4096)
def moments(activation: str, q: float) -> Moments:
    """Gaussian averages of an activation whose input has variance q."""
    act, slope = ACTIVATIONS[activation]
    if not np.isfinite(q):
        return Moments(np.nan, np.nan, np.nan)
    with np.errstate(over="ignore"):
        values, slopes = act(sqrt(q) * Z), slope(sqrt(q) * Z)
        mean, square, steepness = (float((of * WEIGHT).sum()) for of in (values, values**2, slopes**2))
    return Moments(mean, square - mean**2, steepness)
