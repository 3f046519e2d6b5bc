"""Random nets of the papers' mean-field results, in numpy with float64: before training, wide, several seeds.

Each function takes no arguments and returns numbers and arrays; random draws are seeded. Legend: K seeds, L layers, N
width, B samples.
"""

from functools import cache
from typing import Any

import numpy as np

from models.insight.gaussian import moments

__all__ = ["order_and_chaos"]

SEEDS = 3
WEIGHT_VARIANCES, BIAS_VARIANCE = (1.0, 1.761, 4.0), 0.05
XS, YS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0), (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
WIDE, LAYERS = 400, 30
PLANE_WIDTH, PLANE_LAYERS = 200, 20
SETTLED, NO_CHANGE = 500, 1e-9  # iterations to a fixed point at most, and the relative change at which they end
MAX_BIAS_VARIANCE, HALVINGS = 4.0, 20  # of the search for the edge of chaos
MIN_SQUARE = 1e-6  # of a pre-activation: a net without biases below the edge has none


def fixed_point(weights: float, biases: float) -> float:
    """The mean square q* of a tanh layer's pre-activations that the next layer repeats."""
    square = 1.0
    for _ in range(SETTLED):
        before, square = square, max(weights * moments("tanh", square).square + biases, MIN_SQUARE)
        if abs(square / before - 1) < NO_CHANGE:
            break
    return square


def chi(weights: float, biases: float) -> float:
    """The factor per layer of a gradient's mean square: weight variance times E tanh'^2 at the fixed point."""
    return weights * moments("tanh", fixed_point(weights, biases)).slope


def edge(weights: float) -> float:
    """The bias variance at which chi is 1; 0 where it is below 1 without biases, which only bring order."""
    low, high = 0.0, MAX_BIAS_VARIANCE
    if chi(weights, low) <= 1:
        return 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if chi(weights, middle) > 1 else (low, middle)
    return low


def gradients(weights: float, biases: float, seed: int, width: int, layers: int) -> np.ndarray:
    """The mean square of a gradient at every layer of a random tanh net, from the input on, (L + 1,)."""
    source = np.random.default_rng(seed)
    h = np.sqrt(fixed_point(weights, biases)) * source.standard_normal(width)
    matrices, slopes = [], []
    for _ in range(layers):
        matrices.append(np.sqrt(weights / width) * source.standard_normal((width, width)))
        slopes.append(1 - np.tanh(h) ** 2)
        h = matrices[-1] @ np.tanh(h) + np.sqrt(biases) * source.standard_normal(width)
    g = source.standard_normal(width)
    squares = [float((g**2).mean())]
    for matrix, slope in zip(reversed(matrices), reversed(slopes), strict=True):
        g = slope * (matrix.T @ g)
        squares.append(float((g**2).mean()))
    return np.array(squares[::-1])


@cache
def order_and_chaos() -> dict[str, Any]:
    """Gradients over layers (K, L + 1) by weight variance, chi of the formula, and a map of the factor per layer."""
    profiles = {
        variance: np.stack([gradients(variance, BIAS_VARIANCE, seed, WIDE, LAYERS) for seed in range(SEEDS)])
        for variance in WEIGHT_VARIANCES
    }
    cells = np.ones((len(YS), len(XS)))
    for row, biases in enumerate(YS):
        for column, weights in enumerate(XS):
            ends = [gradients(weights, biases, seed, PLANE_WIDTH, PLANE_LAYERS)[[0, -1]] for seed in range(SEEDS)]
            cells[row, column] = np.exp(np.mean([np.log(start / end) for start, end in ends]) / PLANE_LAYERS)
    return {
        "profiles": profiles,
        "chi": {variance: chi(variance, BIAS_VARIANCE) for variance in WEIGHT_VARIANCES},
        "xs": XS,
        "ys": YS,
        "cells": cells,
        "edge": np.array([edge(weights) for weights in XS]),
    }
