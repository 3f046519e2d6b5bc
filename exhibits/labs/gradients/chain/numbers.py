"""Backpropagation through a chain of layers, factor by factor, and the derivative by each weight."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.content import Texts

TEXTS = Texts("labs/gradients/chain")
Curve = Callable[[np.ndarray], np.ndarray]


def example_note(example: str) -> str:
    return TEXTS(example)


def upstream_gradients(factors: np.ndarray) -> np.ndarray:
    """Gradient at x_0 ... x_L of a chain whose gradient at x_L is 1, (L + 1,): the product f_{l+1} ... f_L at x_l."""
    return np.append(np.cumprod(np.asarray(factors, float)[::-1])[::-1], 1.0)


def residual_factors(factors: np.ndarray) -> np.ndarray:
    """Factors 1 + f' of layers x + f(x), (L,)."""
    return 1.0 + np.asarray(factors, float)


def random_residual_factors(factors: np.ndarray) -> np.ndarray:
    """Factors √(1 + f²) where f' is a random matrix, whose gradient is orthogonal to the residual's, (L,)."""
    return np.sqrt(1.0 + np.asarray(factors, float) ** 2)


def path_contributions(factors: np.ndarray) -> np.ndarray:
    """Terms of the expanded product of all 1 + f, by the number of branches 0 ... L on the path, (L + 1,)."""
    contributions = np.ones(1)
    for factor in np.asarray(factors, float):
        contributions = np.convolve(contributions, [1.0, factor])
    return contributions


@dataclass(frozen=True)
class Derivatives:
    """The factors of ∂(½(x_L - t)²)/∂w_l: `error` is x_L - t; the others are per layer (L,).

    `later_factors`: product of the later layers' factors. `slopes`: φ'(z_l). `inputs`: x_{l-1}.
    """

    prediction: float
    error: float
    later_factors: np.ndarray
    slopes: np.ndarray
    inputs: np.ndarray

    @property
    def by_weight(self) -> np.ndarray:
        """Derivative by each weight, (L,)."""
        return self.error * self.later_factors * self.slopes * self.inputs


def derivatives(
    weights: np.ndarray, x: float, target: float, activation: tuple[Curve, Curve], *, skip: bool
) -> Derivatives:
    """Forward and backward pass through x_l = φ(w_l x_{l-1}), or x_l = x_{l-1} + φ(w_l x_{l-1}) with a skip.

    `activation`: φ and its slope.
    """
    function, slope = activation
    skip_weight = 1.0 if skip else 0.0
    stream = [float(x)]
    for weight in weights:
        branch = float(function(np.array(weight * stream[-1])))
        stream.append(skip_weight * stream[-1] + branch)
    inputs = np.array(stream[:-1])
    slopes = slope(weights * inputs)
    later_factors = upstream_gradients(skip_weight + weights * slopes)[1:]
    return Derivatives(
        prediction=stream[-1],
        error=stream[-1] - target,
        later_factors=later_factors,
        slopes=slopes,
        inputs=inputs,
    )


def after_step(weights: np.ndarray, gradients: np.ndarray, lr: float) -> np.ndarray:
    """Weights after one step of gradient descent, (L,)."""
    return np.asarray(weights, float) - lr * np.asarray(gradients, float)


def unchanged_in_float32(weights: np.ndarray, gradients: np.ndarray, lr: float) -> np.ndarray:
    """Whether float32's rounding swallows the update of each layer's weight, (L,)."""
    with np.errstate(over="ignore"):
        step = np.asarray(lr * np.asarray(gradients, float), np.float32)
    before = np.asarray(weights, np.float32)
    return np.asarray(before - step == before)


PRESETS: dict[str, tuple[float, ...]] = {  # factors of each example (L,), from the first layer to the last
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
