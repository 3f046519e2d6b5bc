"""A gradient on its way back through a chain of layers, factor by factor, and the derivative by each weight."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.content import Texts

TEXTS = Texts("labs/gradients")
Curve = Callable[[np.ndarray], np.ndarray]


def reading(example: str) -> str:
    """What an example shows."""
    return TEXTS(example)


def arriving(factors: np.ndarray) -> np.ndarray:
    """The gradient at x_0 ... x_L of a chain (L + 1,), if it is 1 at x_L: at x_l it is f_{l+1} ... f_L."""
    return np.append(np.cumprod(np.asarray(factors, float)[::-1])[::-1], 1.0)


def with_skip(factors: np.ndarray) -> np.ndarray:
    """The factors of x + f(x): the derivative of the sum is 1 + f'. (L,)"""
    return 1.0 + np.asarray(factors, float)


def with_skip_at_random(factors: np.ndarray) -> np.ndarray:
    """The same for a random matrix f', whose gradient is at right angles to the skip's: √(1 + f²). (L,)"""
    return np.sqrt(1.0 + np.asarray(factors, float) ** 2)


def by_branches(factors: np.ndarray) -> np.ndarray:
    """The product of 1 + f multiplied out: what comes past k branches, k = 0 to L, which adds up to it. (L + 1,)"""
    found = np.ones(1)
    for factor in np.asarray(factors, float):
        found = np.convolve(found, [1.0, factor])
    return found


@dataclass(frozen=True)
class Derivatives:
    """What ∂(½(x_L - t)²)/∂w_l is the product of: `error` x_L - t, and for every layer (L,) the product of the later
    layers' factors, its own activation's slope and its input.
    """

    prediction: float
    error: float
    later: np.ndarray
    slopes: np.ndarray
    inputs: np.ndarray

    @property
    def by_weight(self) -> np.ndarray:
        """The derivative by each weight (L,)."""
        return self.error * self.later * self.slopes * self.inputs


def derivatives(
    weights: np.ndarray, x: float, target: float, activation: tuple[Curve, Curve], *, skip: bool
) -> Derivatives:
    """Forward and back through x_l = φ(w_l x_{l-1}), or x_l = x_{l-1} + φ(w_l x_{l-1}) with a skip.

    `activation`: φ and its slope.
    """
    value, slope = activation
    stream = [float(x)]
    for weight in weights:
        stream.append(skip * stream[-1] + float(value(np.array(weight * stream[-1]))))
    inputs = np.array(stream[:-1])
    slopes = slope(weights * inputs)
    later = arriving(skip + weights * slopes)[1:]
    return Derivatives(stream[-1], stream[-1] - target, later, slopes, inputs)


def updated(weights: np.ndarray, gradients: np.ndarray, rate: float) -> np.ndarray:
    """w - rate * gradient for every layer (L,)."""
    return np.asarray(weights, float) - rate * np.asarray(gradients, float)


def standing_still(weights: np.ndarray, gradients: np.ndarray, rate: float) -> np.ndarray:
    """Whether each layer's weight is unchanged by its update in float32, (L,)."""
    with np.errstate(over="ignore"):
        step = np.asarray(rate * np.asarray(gradients, float), np.float32)
    own = np.asarray(weights, np.float32)
    return np.asarray(own - step == own)


PRESETS: dict[str, tuple[float, ...]] = {  # an example's factors (L,), from the first layer to the last
    "Factors below 1": (0.9, 0.5, 0.8, 0.3, 0.7, 0.6, 0.9, 0.4, 0.5, 0.8),
    "Half at every layer": (0.5,) * 10,
    "Sigmoid, its bound 1/4": (0.25,) * 10,
    "Sigmoid at Xavier": (0.2117, 0.2348, *(0.236,) * 8),
    "ReLU at Xavier": (0.7071,) * 20,
    "ReLU at PyTorch's default": (0.4082,) * 20,
    "ReLU at He": (1.0,) * 50,
    "A factor above 1": (1.5,) * 20,
    "A branch that cancels its skip": (-1.0,) + (0.5,) * 5,
}
