"""The activations with their derivatives, and what both leave of a Gaussian input, by quadrature. Keys as in the spec."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]

# The middles of 4,000 cells, symmetric about 0, which is no point of the grid: a kink there costs no accuracy.
REACH, CELLS = 10.0, 4000
POINTS = (np.arange(CELLS) + 0.5) * (2 * REACH / CELLS) - REACH
WEIGHTS = np.exp(-(POINTS**2) / 2) / math.sqrt(2 * math.pi) * (2 * REACH / CELLS)


@dataclass(frozen=True)
class Moments:
    """Of an activation fed with N(0, spread²): E φ, E φ², E φ'²."""

    mean: float
    square: float
    slope_square: float

    @property
    def variance(self) -> float:
        """E φ² - (E φ)²."""
        return self.square - self.mean**2


def value(activation: str, z: np.ndarray) -> np.ndarray:
    """φ(z), of any shape."""
    return FUNCTIONS[activation][0](np.asarray(z, float))


def slope(activation: str, z: np.ndarray) -> np.ndarray:
    """φ'(z), of any shape; 0 at the kink of ReLU, as PyTorch has it."""
    return FUNCTIONS[activation][1](np.asarray(z, float))


def steepest(activation: str) -> tuple[float, float]:
    """The z with the largest φ', the one nearest 0 where there are several, and that φ'. To a thousandth in z."""
    grid = np.arange(-8000, 8001) / 1000
    found = slope(activation, grid)
    best = grid[found >= found.max() - 1e-12]
    at = float(best[np.abs(best).argmin()])
    return at, float(found.max())


def moments(activation: str, spread: float = 1.0) -> Moments:
    """What is left of z ~ N(0, spread²) behind the activation."""
    z = spread * POINTS
    phi, derivative = value(activation, z), slope(activation, z)
    return Moments(float(phi @ WEIGHTS), float(phi**2 @ WEIGHTS), float(derivative**2 @ WEIGHTS))


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(z / 2))


def _below(z: np.ndarray) -> np.ndarray:
    """Φ(z), the Gaussian chance of being below z."""
    return 0.5 * (1 + np.vectorize(math.erf, otypes=[float])(z / math.sqrt(2)))


def _density(z: np.ndarray) -> np.ndarray:
    return np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


def _sigmoid_slope(z: np.ndarray) -> np.ndarray:
    return _sigmoid(z) * _sigmoid(-z)


FUNCTIONS: dict[str, tuple[Function, Function]] = {
    "relu": (lambda z: np.maximum(z, 0.0), lambda z: (z > 0).astype(float)),
    "gelu": (lambda z: z * _below(z), lambda z: _below(z) + z * _density(z)),
    "silu": (lambda z: z * _sigmoid(z), lambda z: _sigmoid(z) + z * _sigmoid_slope(z)),
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "sigmoid": (_sigmoid, _sigmoid_slope),
    "identity": (lambda z: z, np.ones_like),
}
